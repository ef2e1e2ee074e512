namespace PaymentGateway.Tests.Tools.Running;

public sealed class SystemSettingsTests
{
    private static readonly string[] AllParts = ["default", "fallback", "postgres", "api1", "api2", "nginx"];

    [Fact]
    public void Without_variables_or_with_empty_ones_the_settings_are_those_of_make_run()
    {
        var settings = Of();

        Assert.Equal((9999, 8001, 8002), (settings.Port, settings.DefaultPort, settings.FallbackPort));
        Assert.Equal("http://127.0.0.1:8001", settings.DefaultUrl);
        Assert.Equal(("unlogged", false), (settings.Profile, settings.Durable));
        Assert.Equal(TimeSpan.FromSeconds(30), settings.ReadyLimit);
        Assert.Equal(Repository.PathOf(".run"), settings.RunDirectory);
        Assert.Equal(AllParts, settings.Parts);
        Assert.True(settings.Fresh);
        Assert.False(settings.Limits);
        Assert.Equal(("0.05", "0.15"), (settings.DefaultFee, settings.FallbackFee));
        Assert.Equal((9999, "unlogged"), (Of(("PORT", "")).Port, Of(("PROFILE", "")).Profile));
    }

    [Fact]
    public void An_operator_has_ports_of_their_own_unless_they_ask_for_that_of_the_payments()
    {
        Assert.Equal((9101, "http://127.0.0.1:9101", false), (Of().AdminPort, Of().AdminUrl, Of().SharesAdmin));
        Assert.True(Of(("ADMIN_PORT", "9999")).SharesAdmin);
        Assert.True(Of(("PORT", "7000"), ("ADMIN_PORT", "7000")).SharesAdmin);
    }

    [Theory]
    [InlineData("unlogged", null, "Everyone")]
    [InlineData("durable", null, "Operator")]
    [InlineData("durable", "Everyone", "Everyone")]
    public void Only_a_ledger_that_a_crash_empties_is_purged_by_everyone_unless_a_caller_says_so(
        string profile, string? said, string expected)
    {
        var settings = Of(("PROFILE", profile)).With(("Gateway__Admin__Purge", said));

        var layout = new SystemLayout(settings, new RunFolder("/run"), "/run/short", "/run/data");

        Assert.Equal(expected, InstanceEnvironment.Of(layout, "api1")["Gateway__Admin__Purge"]);
    }

    [Fact]
    public void An_outside_processor_needs_no_simulator_and_keeps_the_ledger()
    {
        var settings = Of(("DEFAULT_URL", "http://elsewhere:8080"));

        Assert.Equal("http://elsewhere:8080", settings.DefaultUrl);
        Assert.Equal(AllParts.Except(["default"]), settings.Parts);
        Assert.False(settings.Fresh);
        Assert.True(settings.With(("FRESH", "1")).Fresh);
    }

    [Fact]
    public void Simulators_have_the_tokens_of_reconciliation_and_other_processors_none()
    {
        string[] both =
            ["Gateway__Processors__default__AdminToken=123", "Gateway__Processors__fallback__AdminToken=123"];

        Assert.Empty(Of().OfGateway());
        Assert.Equal(both, TokensOf(Of()));
        Assert.Equal([.. both, "Gateway__Processors__third__AdminToken=123"], TokensOf(Of(("PROCESSORS", "3"))));
        Assert.Equal(
            ["GATEWAY__PROCESSORS__DEFAULT__ADMINTOKEN=x", both[1]],
            TokensOf(Of(("GATEWAY__PROCESSORS__DEFAULT__ADMINTOKEN", "x"))));
        Assert.Empty(TokensOf(Of(("FALLBACK_URL", "http://elsewhere:8080"))));

        static string[] TokensOf(SystemSettings settings) =>
            [.. settings.WithReconciliation().OfGateway().Select(one => $"{one.Key}={one.Value}")];
    }

    // A payment that waits for one processor must not be charged by another; a plain start deletes simulators' data.
    [Fact]
    public void Each_pair_of_processors_has_data_of_its_own()
    {
        (string Name, string Value)[] both = [("DEFAULT_URL", "http://one"), ("FALLBACK_URL", "http://two")];
        var folder = new RunFolder("/run");

        string[] folders =
        [
            folder.DataOf(Of()), folder.DataOf(Of(("PROFILE", "durable"))),
            folder.DataOf(Of(both)), folder.DataOf(Of([.. both, ("PROFILE", "durable")])),
            folder.DataOf(Of(both[0])), folder.DataOf(Of(both[1])),
            folder.DataOf(Of(("DEFAULT_URL", "http://two"), ("FALLBACK_URL", "http://one"))),
            folder.DataOf(Of(("DEFAULT_URL", "http://one http://two"))),
        ];

        Assert.Equal(folders.Length, folders.Distinct().Count());
        Assert.Equal("/run/postgres-unlogged-simulators", folders[0]);
        Assert.Equal("/run/postgres-durable-simulators", folders[1]);
        Assert.Equal(folders[2], folder.DataOf(Of([.. both, ("PORT", "7000")])));
    }

    [Fact]
    public void A_ledger_of_the_callers_own_is_never_emptied()
    {
        var settings = Of(("LEDGER", "Host=elsewhere"));

        Assert.False(settings.Fresh);
        Assert.Equal(AllParts.Except(["postgres"]), settings.Parts);
        Assert.Contains("FRESH=1", Refusal(settings.With(("FRESH", "1"))), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Gateway__Storage__Profile", "PROFILE=durable")]
    [InlineData("GATEWAY__ADMIN__URLS", "ADMIN_PORT")]
    [InlineData("Gateway__Processors__Default__BaseUrl", "DEFAULT_URL")]
    public async Task A_setting_that_would_be_overruled_refuses_a_start_with_what_to_say_and_a_stop_never(
        string name, string variable)
    {
        var nowhere = Path.Combine(Path.GetTempPath(), $"payment-gateway-tests.{Path.GetRandomFileName()}");
        var settings = Of((name, "Durable"), ("RUN_DIR", nowhere));
        var system = new NativeSystem(settings);

        Assert.EndsWith($"say {variable}", Refusal(settings).Split(" or ")[0], StringComparison.Ordinal);
        await Assert.ThrowsAsync<ToolException>(() => system.UpAsync());
        await Assert.ThrowsAsync<ToolException>(() => system.StartAsync("api1"));
        Assert.False(await system.DownAsync());
        Assert.False(Directory.Exists(nowhere));
    }

    [Theory]
    [InlineData("PROFILE", "quick", "unlogged or durable")]
    [InlineData("LIMITS", "2", "1, or 0")]
    [InlineData("PORT", "http", "")]
    public void A_meaningless_value_is_refused(string name, string value, string allowed)
    {
        var refused = Assert.Throws<ToolException>(() => Of((name, value)).Port);

        Assert.Contains(name, refused.Message, StringComparison.Ordinal);
        Assert.Contains(allowed, refused.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void A_variable_of_a_later_call_overrides_the_saved_one_also_when_it_is_empty()
    {
        var saved = Of(("PORT", "7000"), ("POOL", "4"), ("TOKEN", "secret")).ToSave();

        var later = Of(("POOL", "6"), ("TOKEN", "")).Over(saved);

        Assert.Equal(7000, later.Port);
        Assert.Contains("Maximum Pool Size=6;", later.ConnectionString("/nowhere"));
        Assert.Null(later.Token);
    }

    [Fact]
    public void Settings_of_the_gateway_are_saved_in_any_case_of_their_name_and_replaced_in_any()
    {
        var saved = Of(("GATEWAY__ROUTING__FALLBACKAFTER", "3s"), ("HOME", "/root")).ToSave();
        Assert.Equal("3s", saved["GATEWAY__ROUTING__FALLBACKAFTER"]);
        Assert.DoesNotContain("HOME", saved.Keys);

        var later = Of(("Gateway__Routing__FallbackAfter", "5s")).Over(saved);

        Assert.Equal("5s", Assert.Single(later.OfGateway()).Value);
    }

    [Fact]
    public void Saved_settings_include_the_defaults_of_the_start()
    {
        var saved = Of(("DEFAULT_URL", "http://elsewhere"), ("DEFAULT_FEE", "0.07"), ("ADMIN_PORT", "9201")).ToSave();

        // Otherwise a later start without DEFAULT_URL would empty the ledger.
        Assert.Equal("0", saved["FRESH"]);
        Assert.Equal(("9999", "0.07", "9201"), (saved["PORT"], saved["DEFAULT_FEE"], saved["ADMIN_PORT"]));
        Assert.DoesNotContain("TOKEN", saved.Keys);
        Assert.Null(Of(("TOKEN", "secret")).With(("TOKEN", null), ("PORT", "5")).Token);
    }

    private static string Refusal(SystemSettings settings) =>
        Assert.Throws<ToolException>(() => InstanceEnvironment.RefuseOverruled(settings)).Message;

    private static SystemSettings Of(params (string Name, string Value)[] variables) =>
        SystemSettings.From(variables.Select(one => KeyValuePair.Create(one.Name, one.Value)));
}
