using PaymentGateway.Cli;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>How the published gateway starts, and how it does not.</summary>
[Collection(Alone.Name), Trait(Alone.Lane, Alone.Name)]
public sealed class StartTests(RunningSystem running, ITestOutputHelper output) : IDisposable
{
    // docs/performance.md
    private const long AllMax = 60_000_000;

    private readonly string _folder = Directory.CreateTempSubdirectory("payment-gateway-tests.").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [GatewaySystemTheory]
    [InlineData("ConnectionStrings__Ledger", "")]
    [InlineData("ConnectionStrings__Ledger", "Nonsense=1")]
    [InlineData("Gateway__Processors__Default__BaseUrl", "")]
    [InlineData("Gateway__Processors__Fallback__BaseUrl", "fallback:8080")]
    [InlineData("Gateway__Admin__Token", "")]
    [InlineData("Gateway__Admin__Urls", "https://127.0.0.1:9101")]
    [InlineData("Gateway__Admin__Urls", "http://unix:/nowhere/at/all.sock")]
    [InlineData("Gateway__Logging__Format", "Xml")]
    [InlineData("Gateway__Secrets__Directory", "/nowhere/at/all")]
    [InlineData("Gateway__Storage__Profile", "7")]
    [InlineData("Gateway__Admin__Purge", "nobody")]
    [InlineData("Gateway__Routing__FallbackAfter", "30")]
    [InlineData("Gateway__Routing__HealthInterval", "1s")]
    [InlineData("Gateway__Settling__MaxConcurrency", "0")]
    [InlineData("Gateway__Settling__Linger", "2s")]
    [InlineData("Gateway__Settling__CallTimeout", "-1s")]
    [InlineData("Gateway__Leasing__RenewInterval", "3s")]
    [InlineData("Gateway__Routing__FalbackAfter", "30s")]
    [InlineData("ASPNETCORE_URLS", "http://unix:/nowhere/at/all.sock")]
    public async Task A_wrong_setting_ends_the_start_with_one_line_that_names_it(string setting, string value)
    {
        var settings = Settings();
        settings[setting] = value;

        await using var instance = GatewaySystemInstance.Start(settings);
        var (exitCode, text, errors) = await instance.EndAsync(TimeSpan.FromSeconds(60));

        Assert.Equal(78, exitCode);
        Assert.Empty(text);
        var line = Assert.Single(errors.Split('\n', StringSplitOptions.RemoveEmptyEntries));
        Assert.Contains(setting, line);
    }

    [GatewaySystemFact]
    public async Task Every_line_of_a_json_log_is_an_object_from_the_start_to_the_end()
    {
        var settings = Settings();
        settings["Gateway__Logging__Format"] = "Json";
        settings["Gateway__Admin__Urls"] = $"http://unix:{_folder}/admin.sock";
        // Silent by default.
        settings["Logging__LogLevel__Microsoft.Hosting"] = "Information";
        await using var instance = GatewaySystemInstance.Start(settings);
        using var admin = UnixHttp.To($"{_folder}/admin.sock");
        await Eventually.HoldsAsync(() => Answers(admin, "healthz", 200), "the instance answers");

        instance.Signal(GatewaySystemInstance.Terminate);
        var (exitCode, text, errors) = await instance.EndAsync(TimeSpan.FromSeconds(60));

        Assert.Equal((0, ""), (exitCode, errors));
        var lines = text.Split('\n', StringSplitOptions.RemoveEmptyEntries)
            .Select(line => JsonDocument.Parse(line).RootElement).ToList();
        Assert.Superset(
            new HashSet<string> { "AdminOpen", "DatabaseUnavailable" },
            lines.Where(line => line.TryGetProperty("event", out _))
                .Select(line => line.GetProperty("event").GetString()!).ToHashSet());
        Assert.Contains(lines, line => line.GetProperty("category").GetString() == "Microsoft.Hosting.Lifetime");
        Assert.All(lines, line => Assert.Equal(
            DateTimeKind.Utc, line.GetProperty("time").GetDateTime().Kind));
    }

    [GatewaySystemFact]
    public async Task Secrets_are_read_from_files_and_win_over_the_environment()
    {
        var secrets = Directory.CreateDirectory(Path.Combine(_folder, "secrets")).FullName;
        await File.WriteAllTextAsync(Path.Combine(secrets, "Gateway__Admin__Token"), "token-of-the-file\n");
        await File.WriteAllTextAsync(
            Path.Combine(secrets, "ConnectionStrings__Ledger"), "Host=/nowhere;Username=nobody;Database=none\n");
        var settings = Settings();
        settings.Remove("ConnectionStrings__Ledger");
        settings["Gateway__Secrets__Directory"] = secrets;
        settings["Gateway__Admin__Token"] = "token-of-the-environment";
        settings["Gateway__Admin__Urls"] = $"http://unix:{_folder}/admin.sock";

        await using var instance = GatewaySystemInstance.Start(settings);
        using var admin = UnixHttp.To($"{_folder}/admin.sock");
        await Eventually.HoldsAsync(() => Answers(admin, "metrics", 401), "the instance answers");

        admin.DefaultRequestHeaders.Add("X-Rinha-Token", "token-of-the-file");
        Assert.True(await Answers(admin, "metrics", 200));
    }

    // The server runs with synchronous_commit off; the database has no tables yet that could say so too.
    [GatewaySystemFact]
    public async Task Without_a_profile_a_server_that_is_not_durable_ends_the_process_with_one_line_that_says_why()
    {
        var settings = running.System.ChildSettings(GatewaySystem.First);
        settings["ASPNETCORE_URLS"] = settings["Gateway__Admin__Urls"] = $"http://unix:{_folder}/api.sock";
        var ledger = new NpgsqlConnectionStringBuilder(settings["ConnectionStrings__Ledger"]) { Database = "postgres" };
        settings["ConnectionStrings__Ledger"] = ledger.ConnectionString;
        settings.Remove("Gateway__Storage__Profile");

        await using var instance = GatewaySystemInstance.Start(settings);
        var (exitCode, _, errors) = await instance.EndAsync(TimeSpan.FromSeconds(60));

        Assert.Equal(78, exitCode);
        var line = Assert.Single(errors.Split('\n', StringSplitOptions.RemoveEmptyEntries));
        Assert.StartsWith("Gateway__Storage__Profile: is Durable", line, StringComparison.Ordinal);
        Assert.Contains("synchronous_commit=off", line, StringComparison.Ordinal);
    }

    [GatewaySystemFact]
    public async Task Tables_of_a_later_version_end_the_process_with_one_line_and_who_runs_on_them_goes_on()
    {
        await using var system = await GatewaySystem.UpAsync();
        await system.StopAsync(GatewaySystem.Second);
        await system.Database.ExecuteAsync(
            "INSERT INTO schema_version (version, name, checksum) VALUES (900, '', '')");

        await using var instance = system.StartChild(GatewaySystem.Second);
        var (exitCode, _, errors) = await instance.EndAsync(TimeSpan.FromSeconds(60));

        Assert.Equal(78, exitCode);
        var line = Assert.Single(errors.Split('\n', StringSplitOptions.RemoveEmptyEntries));
        Assert.StartsWith("ConnectionStrings__Ledger: names tables of version 900", line, StringComparison.Ordinal);
        Assert.True(await IsReadyAsync(system.Api1));
    }

    [GatewaySystemFact]
    public async Task Another_processor_than_a_running_instance_has_is_refused_until_that_one_stops()
    {
        await using var system = await GatewaySystem.UpAsync();
        await system.StopAsync(GatewaySystem.Second);
        var settings = system.ChildSettings(GatewaySystem.Second);
        settings["Gateway__Processors__Fallback__BaseUrl"] = "http://127.0.0.1:9";

        await using (var refused = GatewaySystemInstance.Start(settings))
        {
            var (exitCode, _, errors) = await refused.EndAsync(TimeSpan.FromSeconds(60));

            Assert.Equal(78, exitCode);
            var line = Assert.Single(errors.Split('\n', StringSplitOptions.RemoveEmptyEntries));
            Assert.StartsWith(
                "Gateway__Processors__Fallback__BaseUrl: is http://127.0.0.1:9/, and ", line, StringComparison.Ordinal);
            Assert.True(await IsReadyAsync(system.Api1));
        }

        await system.StopAsync(GatewaySystem.First);
        await using var changed = GatewaySystemInstance.Start(settings);
        await Eventually.HoldsAsync(() => IsReadyAsync(system.Api2), "the instance with another processor is ready");
    }

    [GatewaySystemFact]
    public async Task A_second_process_on_the_socket_of_a_running_one_is_refused_and_does_it_no_harm()
    {
        await using var instance = GatewaySystemInstance.Start(running.System.ChildSettings(GatewaySystem.First));
        var (exitCode, _, errors) = await instance.EndAsync(TimeSpan.FromSeconds(60));

        Assert.NotEqual(0, exitCode);
        Assert.Contains("ASPNETCORE_URLS", Assert.Single(errors.Split('\n', StringSplitOptions.RemoveEmptyEntries)));
        using var ready = await running.System.Api1.GetAsync("readyz");
        ready.EnsureSuccessStatusCode();
    }

    [GatewaySystemFact]
    public async Task An_instance_starts_fast_and_with_little_memory()
    {
        await using var system = await GatewaySystem.UpAsync();
        var (times, bare, residents) = (new List<double>(), new List<double>(), new List<(long All, long Own)>());
        for (var i = 0; i < 5; i++)
        {
            await system.StopAsync(GatewaySystem.Second);
            // The same program, which only ends: what the machine takes for the start of any.
            bare.Add((await ProgramRun.RunAsync(
                [GatewaySystemParts.Gateway, HealthcheckVerb.Name], null, ("ASPNETCORE_URLS", null)))
                .Took.TotalMilliseconds);
            var waited = Stopwatch.StartNew();
            await using var instance = system.StartChild(GatewaySystem.Second);
            await Eventually.HoldsAsync(() => IsReadyAsync(system.Api2), "the instance is ready");
            times.Add(waited.Elapsed.TotalMilliseconds);
            residents.Add(instance.ResidentBytes());
            Assert.DoesNotContain("libcrypto.so.3", instance.Libraries());
            instance.Signal(GatewaySystemInstance.Terminate);
            Assert.Equal(0, (await instance.EndAsync(TimeSpan.FromSeconds(60))).ExitCode);
        }

        output.WriteLine(
            $"start to ready: {string.Join(", ", times.Select(time => $"{time:0} ms"))}; bare {bare.Min():0} ms");
        Assert.True(times.Min() < 150 + (10 * bare.Min()), $"{times.Min():0} ms");
        output.WriteLine("resident when ready, and of it no page of a file: "
            + string.Join(", ", residents.Select(bytes => $"{bytes.All >> 20} and {bytes.Own >> 20} MB")));
        // How many of the binary's pages are mapped around those that it needs is the kernel's affair, which takes them
        // back, too. What is the instance's own leaves three quarters of its container to payments.
        var limit = ComposeProject.Challenge[GatewaySystem.Second].MemoryMegabytes * 1024L * 1024;
        Assert.All(residents, bytes => Assert.InRange(bytes.Own, 1, limit / 4));
        Assert.All(residents, bytes => Assert.InRange(bytes.All, bytes.Own, AllMax));
    }

    [GatewaySystemFact]
    public async Task An_instance_that_starts_without_PostgreSQL_is_ready_once_that_is_available()
    {
        await using var system = await GatewaySystem.UpAsync();
        await system.StopAsync(GatewaySystem.Second, "postgres");

        await using var instance = system.StartChild(GatewaySystem.Second);
        await Eventually.HoldsAsync(() => Answers(system.Api2, "healthz", 200), "the instance answers");
        Assert.True(await Answers(system.Api2, "readyz", 503));
        await system.StartAsync("postgres");

        await Eventually.HoldsAsync(() => IsReadyAsync(system.Api2), "the instance is ready");
        await Eventually.HoldsAsync(() => IsReadyAsync(system.Api1), "the other instance is ready again");
        var ledger = new LoadLedger();
        await LoadDriver.RunClientsAsync(system.Client, ledger, clients: 5, payments: 20, TimeSpan.Zero);
        await LedgerCheck.AgreesAsync(system, ledger);
        ledger.NoClientSawAnError();
    }

    // A socket and a database of its own, so that a start that should fail and does not disturbs nobody.
    private Dictionary<string, string?> Settings() => new()
    {
        ["ASPNETCORE_URLS"] = $"http://unix:{_folder}/api.sock",
        ["ConnectionStrings__Ledger"] = "Host=/nowhere;Username=nobody;Database=none",
        ["Gateway__Processors__Default__BaseUrl"] = "http://127.0.0.1:9",
        ["Gateway__Processors__Fallback__BaseUrl"] = "http://127.0.0.1:9",
    };

    private static Task<bool> IsReadyAsync(HttpClient http) => Answers(http, "readyz", 200);

    private static async Task<bool> Answers(HttpClient http, string path, int status)
    {
        try
        {
            using var answer = await http.GetAsync(path);
            return (int)answer.StatusCode == status;
        }
        catch (HttpRequestException)
        {
            return false; // Its socket is not there yet.
        }
    }
}
