using PaymentGateway.Cli;
using PaymentGateway.Tools.Limiting;

namespace PaymentGateway.Tests.EndToEnd;

[Collection(Alone.Name), Trait(Alone.Lane, Alone.Name)]
public sealed class StartTests(RunningSystem running, ITestOutputHelper output) : IDisposable
{
    // docs/performance.md
    private const long AllMax = 60_000_000;

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(60);

    private readonly string _folder = Directory.CreateTempSubdirectory("payment-gateway-tests.").FullName;

    private GatewaySystem System => running.System;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    // A setting that is read before all others, one that is read with all others, and one that listening finds wrong.
    // GatewayOptionsTests, ListenUrlsTests, SettingsFileTests and InstanceLockTests have the others.
    [GatewaySystemTheory]
    [InlineData("Gateway__Secrets__Directory", "/nowhere/at/all")]
    [InlineData("Gateway__Routing__FalbackAfter", "30s")]
    [InlineData("Gateway__Admin__Urls", "http://unix:/nowhere/at/all.sock")]
    public async Task A_wrong_setting_ends_the_start_with_one_line_that_names_it(string setting, string value)
    {
        var settings = Settings();
        settings[setting] = value;

        await using var instance = GatewaySystemInstance.Start(settings);
        var (exitCode, text, errors) = await instance.EndAsync(Limit);

        Assert.Equal((78, ""), (exitCode, text));
        Assert.StartsWith(
            setting, Assert.Single(errors.Split('\n', StringSplitOptions.RemoveEmptyEntries)),
            StringComparison.Ordinal);
    }

    [GatewaySystemFact]
    public async Task Every_line_of_a_json_log_is_an_object_from_the_start_to_the_end()
    {
        var settings = Settings();
        // A file wins over the environment.
        settings["Gateway__Logging__Format"] = "Text";
        settings["Gateway__Secrets__Directory"] = Directory.CreateDirectory(Path.Combine(_folder, "secrets")).FullName;
        await File.WriteAllTextAsync(Path.Combine(_folder, "secrets", "Gateway__Logging__Format"), "Json\n");
        settings["Gateway__Admin__Urls"] = $"http://unix:{_folder}/admin.sock";
        // A network, where the certificate is not asked for; nothing answers there.
        settings["ConnectionStrings__Ledger"] = "Host=255.255.255.255;Username=nobody;Database=none";
        // Silent by default.
        settings["Logging__LogLevel__Microsoft.Hosting"] = "Information";
        await using var instance = GatewaySystemInstance.Start(settings);
        using var admin = UnixHttp.To($"{_folder}/admin.sock");
        await Eventually.HoldsAsync(() => Eventually.IsReadyAsync(admin, "healthz"), "the instance answers");

        instance.Terminate();
        var (exitCode, text, errors) = await instance.EndAsync(Limit);

        Assert.Equal((0, ""), (exitCode, errors));
        var lines = text.Split('\n', StringSplitOptions.RemoveEmptyEntries)
            .Select(line => JsonDocument.Parse(line).RootElement).ToList();
        Assert.Superset(
            new HashSet<string> { "AdminOpen", "DatabaseUnavailable", "LedgerUnverified" },
            lines.Where(line => line.TryGetProperty("event", out _))
                .Select(line => line.GetProperty("event").GetString()!).ToHashSet());
        Assert.Contains(lines, line => line.GetProperty("category").GetString() == "Microsoft.Hosting.Lifetime");
        Assert.All(lines, line => Assert.Equal(
            DateTimeKind.Utc, line.GetProperty("time").GetDateTime().Kind));
    }

    [GatewaySystemFact]
    public async Task An_instance_starts_fast_and_with_little_memory()
    {
        // The reset of the next test starts it again.
        await System.StopAsync(GatewaySystem.Second);
        var (times, bare, residents) = (new List<double>(), new List<double>(), new List<(long All, long Own)>());
        for (var i = 0; i < 5; i++)
        {
            // A start that only ends shows how long this machine takes for the start of any program.
            bare.Add((await ProgramRun.RunAsync(
                [GatewaySystemParts.Gateway, HealthcheckVerb.Name], null, ("ASPNETCORE_URLS", null)))
                .Took.TotalMilliseconds);
            var waited = Stopwatch.StartNew();
            await using var instance = System.StartChild(GatewaySystem.Second);
            await Eventually.HoldsAsync(() => Eventually.IsReadyAsync(System.Api2), "the instance is ready");
            times.Add(waited.Elapsed.TotalMilliseconds);
            residents.Add(instance.ResidentBytes());
            Assert.DoesNotContain("libcrypto.so.3", instance.Libraries());
            instance.Terminate();
            Assert.Equal(0, (await instance.EndAsync(Limit)).ExitCode);
        }

        output.WriteLine(
            $"start to ready: {string.Join(", ", times.Select(time => $"{time:0} ms"))}; bare {bare.Min():0} ms");
        Assert.True(times.Min() < 150 + (10 * bare.Min()), $"{times.Min():0} ms");
        output.WriteLine("resident when ready, and of it no page of a file: "
            + string.Join(", ", residents.Select(bytes => $"{bytes.All >> 20} and {bytes.Own >> 20} MB")));
        // The kernel maps pages of the binary beyond the needed ones, and takes them back. The instance's own pages
        // leave three quarters of its container to payments.
        var limit = ComposeSplit.Read()[GatewaySystem.Second].MemoryBytes;
        Assert.All(residents, bytes => Assert.InRange(bytes.Own, 1, limit / 4));
        Assert.All(residents, bytes => Assert.InRange(bytes.All, bytes.Own, AllMax));
    }

    // A socket and a database of its own, so that a start that should fail and does not disturbs nobody.
    private Dictionary<string, string?> Settings() => new()
    {
        ["ASPNETCORE_URLS"] = $"http://unix:{_folder}/api.sock",
        ["ConnectionStrings__Ledger"] = "Host=/nowhere;Username=nobody;Database=none",
        ["Gateway__Processors__Default__BaseUrl"] = "http://127.0.0.1:9",
        ["Gateway__Processors__Fallback__BaseUrl"] = "http://127.0.0.2:9",
    };
}
