using Microsoft.Extensions.DependencyInjection;

namespace PaymentGateway.Tests.Hosting.Configuration;

public sealed class GatewayOptionsTests
{
    [Fact]
    public void With_the_required_settings_alone_everything_has_its_default()
    {
        var options = TestSettings.Read();

        Assert.Equal("Host=/nowhere", options.Ledger.ConnectionString);
        Assert.Equal(Environment.MachineName, options.Instance.Name);
        Assert.Empty(options.Operators.Tokens);
        Assert.True(options.Ledger.Durable);
        Assert.Equal((Purger.Operator, LookUp.Token), (options.Operators.Purger, options.Operators.LookUp));
        Assert.Equal(
            new IntakeOptions(
                2_000, 500, TimeSpan.FromSeconds(1.5), TimeSpan.FromMilliseconds(3), 20_000),
            options.Intake);
        Assert.Equal(
            new RoutingOptions(
                TimeSpan.FromSeconds(10), TimeSpan.FromSeconds(1.2), TimeSpan.FromSeconds(0.5),
                TimeSpan.FromSeconds(5.2)),
            options.Routing);
        Assert.Equal(
            new SettlingOptions(
                TimeSpan.FromSeconds(10), TimeSpan.FromSeconds(2), TimeSpan.FromMilliseconds(50), 256, 2_000, 16,
                TimeSpan.FromSeconds(15), TimeSpan.FromSeconds(5)),
            options.Settling);
        Assert.Equal(new RecordingOptions(TimeSpan.FromMilliseconds(50), 1_000, 20_000), options.Ledger.Recording);
        Assert.Equal(new LeasingOptions(TimeSpan.FromSeconds(3), TimeSpan.FromSeconds(1)), options.Leasing);
    }

    [Theory]
    [InlineData("ConnectionStrings:Ledger")]
    [InlineData("Gateway:Processors:Default:BaseUrl")]
    [InlineData("Gateway:Processors:Fallback:BaseUrl")]
    public void A_required_setting_that_is_missing_is_named(string key)
    {
        var wrong = Assert.Throws<ConfigurationException>(() => TestSettings.Read((key, null)));

        Assert.Equal(InEnvironment(key) + ": is required", wrong.Message);
    }

    [Theory]
    [InlineData("Gateway:Processors:Default:BaseUrl", "localhost:8001")]
    [InlineData("Gateway:Processors:Fallback:BaseUrl", "ftp://localhost")]
    [InlineData("Gateway:Processors:Fallback:BaseUrl", "/payments")]
    [InlineData("Gateway:Processors:Default:BaseUrl", "http://host/pay?tenant=1")]
    [InlineData("Gateway:Processors:Default:BaseUrl", "http://host/?")]
    [InlineData("Gateway:Processors:Default:BaseUrl", "http://host/#x")]
    [InlineData("Gateway:Processors:Default:BaseUrl", "https://user:secret@host/")]
    [InlineData("Gateway:Processors:Default:BaseUrl", "https://user@host/")]
    [InlineData("Gateway:Admin:Token", "")]
    [InlineData("Gateway:Processors:Default:AdminToken", "")]
    [InlineData("Gateway:Processors:Default:AdminToken", "ü")]
    [InlineData("Gateway:Admin:Token", "  ")]
    [InlineData("Gateway:Admin:LookUp", "Nobody")]
    [InlineData("Gateway:Storage:Profile", "logged")]
    [InlineData("Gateway:Ledger:Retention", "30h")]
    [InlineData("Gateway:Ledger:Retention", "1439m")]
    [InlineData("Gateway:Ledger:Retention", "0d")]
    [InlineData("Gateway:Ledger:Retention", "3651d")]
    [InlineData("Gateway:Intake:MaxWaiting", "0")]
    [InlineData("Gateway:Intake:MaxWaiting", "-1")]
    [InlineData("Gateway:Intake:MaxWaiting", "100001")]
    [InlineData("Gateway:Intake:MaxWaiting", "99999999999999999999")]
    [InlineData("Gateway:Intake:MaxBatch", "1.5")]
    [InlineData("Gateway:Intake:Linger", "two")]
    [InlineData("Gateway:Intake:StoreTimeout", "3s")]
    [InlineData("Gateway:Intake:StoreTimeout", "-1s")]
    [InlineData("Gateway:Admin:Purge", "Nobody")]
    [InlineData("Gateway:Admin:Purge", "7")]
    [InlineData("Gateway:Routing:FallbackAfter", "30")]
    [InlineData("Gateway:Routing:FallbackAfter", "soon")]
    [InlineData("Gateway:Routing:FallbackAfter", "1e300s")]
    [InlineData("Gateway:Routing:FallbackAfter", "-00:00:01")]
    [InlineData("Gateway:Routing:HealthInterval", "4s")]
    [InlineData("Gateway:Settling:MaxConcurrency", "701")]
    [InlineData("Gateway:Settling:InDoubtHorizon", "2h")]
    [InlineData("Gateway:Settling:InDoubtHorizon", "9s")]
    [InlineData("Gateway:Processors:Default:InDoubtHorizon", "9s")]
    [InlineData("Gateway:Recording:Linger", "2s")]
    [InlineData("Gateway:Leasing:LeaseDuration", "100ms")]
    [InlineData("Gateway:Leasing:RenewInterval", "2s")]
    [InlineData("Gateway:FallbackAfter", "1")]
    [InlineData("Gateway:Routing:FallbackAfte", "1")]
    [InlineData("Gateway:Processors:Third:BaseUrl", "1")]
    public void A_wrong_value_or_name_is_refused_in_one_line_that_names_the_setting(string key, string value)
    {
        var line = TestSettings.AssertRefused(InEnvironment(key) + ": ", (key, value));

        Assert.True(line.Length > key.Length + 4);
        Assert.DoesNotContain("secret@", line, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Default", "Fallback")]
    [InlineData("Fallback", "Default")]
    public void The_administrators_token_of_one_processor_requires_that_of_the_other(string given, string lacking)
    {
        var wrong = Assert.Throws<ConfigurationException>(
            () => TestSettings.Read(($"Gateway:Processors:{given}:AdminToken", "x")));

        Assert.StartsWith(
            $"Gateway__Processors__{lacking}__AdminToken: is", wrong.Message, StringComparison.OrdinalIgnoreCase);
    }

    [Theory]
    [InlineData("500ms", 0.5)]
    [InlineData("2s", 2)]
    [InlineData("1.5s", 1.5)]
    [InlineData("10m", 600)]
    [InlineData("00:00:30", 30)]
    [InlineData("0s", 0)]
    [InlineData("1d", 86_400)]
    public void A_duration_is_written_with_its_unit_or_as_a_time(string text, double seconds)
    {
        var options = TestSettings.Read(("Gateway:Routing:FallbackAfter", text));

        Assert.Equal(TimeSpan.FromSeconds(seconds), options.Routing.FallbackAfter);
    }

    [Theory]
    [InlineData("http://processor:8080", "http://processor:8080/")]
    [InlineData("http://processor:8080/", "http://processor:8080/")]
    [InlineData("https://host/default", "https://host/default/")]
    public void A_base_address_ends_with_a_slash_so_that_paths_hang_below_it(string url, string expected)
    {
        var processors = TestSettings.Read(("Gateway:Processors:Default:BaseUrl", url)).Processors;

        Assert.Equal(new Uri(expected), processors.All[0].Url);
    }

    [Fact]
    public void Names_of_settings_and_choices_may_be_written_in_any_case()
    {
        var options = TestSettings.Read(
            ("gateway:ADMIN:purge", "EVERYONE"), ("Gateway:Storage:Profile", "unlogged"));

        Assert.Equal(Purger.Everyone, options.Operators.Purger);
        Assert.False(options.Ledger.Durable);
    }

    [Fact]
    public void A_connection_string_that_does_not_parse_is_a_wrong_setting()
    {
        var wrong = Assert.Throws<ConfigurationException>(
            () => LedgerSetup.DataSource("Nonsense=1;Host=x"));

        Assert.StartsWith("ConnectionStrings__Ledger: ", wrong.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', wrong.Message);
    }

    private static string InEnvironment(string key) => key.Replace(":", "__", StringComparison.Ordinal);

    [Fact]
    public void Limits_that_the_connection_string_leaves_open_are_set_and_others_stay()
    {
        using var open = LedgerSetup.DataSource("Host=x");
        using var given = LedgerSetup.DataSource("Host=x;Timeout=7;Command Timeout=9");

        var settings = new Npgsql.NpgsqlConnectionStringBuilder(open.ConnectionString);
        Assert.Equal((2, 6, 10), (settings.Timeout, settings.CommandTimeout, settings.MaxPoolSize));
        Assert.Equal("payment-gateway", settings.ApplicationName);
        Assert.Equal((30, 3_600), (settings.TcpKeepAliveTime, settings.ConnectionLifetime));
        settings = new Npgsql.NpgsqlConnectionStringBuilder(given.ConnectionString);
        Assert.Equal((7, 9), (settings.Timeout, settings.CommandTimeout));
    }

    [Fact]
    public async Task Of_several_hosts_the_writable_one_is_used_without_multiplexing_and_a_commit_has_60_s()
    {
        const string Several = "Host=x,y:5433;Multiplexing=true;Target Session Attributes=any";
        await using var pool = LedgerSetup.DataSource(Several);
        await using var shared = LedgerSetup.Shared(pool, TimeProvider.System);
        await using var patient = LedgerSetup.Shared(
            LedgerSetup.DataSource($"{Several};Command Timeout=3600"), TimeProvider.System);
        await using var one = LedgerSetup.DataSource("Host=x;Multiplexing=true");

        var settings = new Npgsql.NpgsqlConnectionStringBuilder(pool.ConnectionString);
        Assert.Equal((false, 1, 60, 1), (
            settings.Multiplexing, settings.Timeout, settings.CommandTimeout, settings.HostRecheckSeconds));
        Assert.Equal((7, 3_601), (shared.AnswerWithin.TotalSeconds, patient.AnswerWithin.TotalSeconds));
        settings = new Npgsql.NpgsqlConnectionStringBuilder(one.ConnectionString);
        Assert.Equal((true, 2, 6), (settings.Multiplexing, settings.Timeout, settings.CommandTimeout));
    }

    [PostgresFact]
    public async Task Of_several_hosts_one_that_takes_no_writes_is_not_used()
    {
        var server = await PostgresServer.Shared;
        var both = server.ConnectionString("postgres").Replace(
            server.Directory, $"{server.Directory},{server.Directory}", StringComparison.Ordinal);
        await using var writable = LedgerSetup.DataSource(both);
        await using var readOnly = LedgerSetup.DataSource($"{both};Options=-c default_transaction_read_only=on");

        await using (await writable.OpenConnectionAsync())
        {
        }

        await Assert.ThrowsAsync<Npgsql.NpgsqlException>(async () => await readOnly.OpenConnectionAsync());
    }

    [Theory]
    [InlineData("Host=x,y", "Unlogged", false)]
    [InlineData("Host=x,y", "Durable", true)]
    [InlineData("Host=x", "Unlogged", true)]
    public async Task Several_hosts_are_refused_but_for_a_durable_ledger(string hosts, string profile, bool isTaken)
    {
        var services = new ServiceCollection().AddLogging().AddSingleton(TimeProvider.System);
        services.AddLedger(TestSettings.Read(
            ("ConnectionStrings:Ledger", hosts), ("Gateway:Storage:Profile", profile)));
        await using var provider = services.BuildServiceProvider();

        var refused = Xunit.Record.Exception(provider.GetRequiredService<SharedConnections>);

        Assert.Equal(isTaken, refused is null);
        Assert.True(isTaken || refused!.Message.StartsWith(
            "Gateway__Storage__Profile: must be Durable", StringComparison.Ordinal));
    }

    [Fact]
    public void A_pool_that_leaves_too_few_connections_beside_the_batches_is_refused()
    {
        var wrong = Assert.Throws<ConfigurationException>(
            () => LedgerSetup.DataSource("Host=x;Maximum Pool Size=4", reserved: 3));

        Assert.Contains("Maximum Pool Size must be at least 5", wrong.Message, StringComparison.Ordinal);
        using var enough = LedgerSetup.DataSource(
            "Host=x;Maximum Pool Size=5;Minimum Pool Size=5", reserved: 3);
        var settings = new Npgsql.NpgsqlConnectionStringBuilder(enough.ConnectionString);
        Assert.Equal((2, 2), (settings.MaxPoolSize, settings.MinPoolSize));
    }
}
