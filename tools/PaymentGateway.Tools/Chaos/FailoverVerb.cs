using System.CommandLine;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Chaos;

/// <summary>The database fails over under load, by each fault in turn; the rig itself is a test.</summary>
internal static class FailoverVerb
{
    public static Command Create()
    {
        var load = new Argument<string?>("load")
        {
            Description = "official: it rises to 550/s in a minute; 500/s when nothing is said",
            Arity = ArgumentArity.ZeroOrOne,
        };
        load.AcceptOnlyFromAmong("official");
        var verb = new Command("ha", "The database fails over under load; prints a table of the faults.") { load };
        verb.SetAction((parsed, cancellation) =>
            RunAsync(SystemSettings.FromEnvironment(), parsed.GetValue(load), cancellation));
        return verb;
    }

    /// <summary>Installs what a cluster that fails over needs and nothing else does.</summary>
    /// <returns>The line that says why its tests cannot run here; null when they can.</returns>
    public static async Task<string?> LackingAsync(CancellationToken cancellation)
    {
        if (!Environment.IsPrivilegedProcess)
            return "NOT RUN: failover, so nothing of it was tested: only root may make networks to cut";

        return await Shell.ShowAsync([Repository.PathOf("eng", "setup"), "failover"], cancellation: cancellation) == 0
            ? null
            : "NOT RUN: failover, so nothing of it was tested: pg_auto_failover is missing (eng/setup failover)";
    }

    private static async Task<int> RunAsync(SystemSettings settings, string? load, CancellationToken cancellation)
    {
        if (await LackingAsync(cancellation) is { } lacking)
            throw new ToolException(lacking);
        await Publishing.PrepareAsync(settings, cancellation);
        var folder = Directory.CreateDirectory(Repository.PathOf("artifacts", "failover")).FullName;
        var (table, log) = (Path.Combine(folder, "table.md"), Path.Combine(folder, "log"));
        File.Delete(table);
        var status = await LoggedCommand.RunAsync(
            [
                "dotnet", "test", ChaosVerb.Tests, "-c", "Release", "-tl:off",
                "--filter", "FullyQualifiedName~FailoverTests",
            ],
            log,
            variables: new Dictionary<string, string?>
            {
                ["HA_TABLE"] = table,
                ["HA_LOAD"] = load,
                ["PAYMENTGATEWAY_REQUIRE_PARTS"] = "1",
                ["NO_PUBLISH"] = "1",
                ["GATEWAY_BIN"] = settings.GatewayBinary,
                ["SIMULATOR_BIN"] = settings.SimulatorBinary,
                ["PG_BIN"] = settings.PostgresBinaries,
            },
            cancellation: cancellation);
        if (File.Exists(table))
            Console.Write(await File.ReadAllTextAsync(table, cancellation));
        if (status != 0)
            await Console.Error.WriteAsync(await File.ReadAllTextAsync(log, cancellation));
        else if (!File.Exists(table))
            throw new ToolException($"NOT RUN: the test of failover was skipped; log: {log}");
        return status;
    }
}
