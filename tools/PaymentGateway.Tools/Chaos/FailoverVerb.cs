using System.CommandLine;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Chaos;

/// <summary>The database fails over under load, by each fault in turn; the rig itself is a test.</summary>
internal static class FailoverVerb
{
    public static Command Create()
    {
        var verb = new Command("ha", "The database fails over under load; prints a table of the faults.");
        verb.SetAction((_, cancellation) => RunAsync(SystemSettings.FromEnvironment(), cancellation));
        return verb;
    }

    /// <summary>Installs what a cluster that fails over needs and nothing else does.</summary>
    /// <exception cref="ToolException">It cannot be had.</exception>
    public static async Task InstallAsync(CancellationToken cancellation)
    {
        if (await Shell.ShowAsync([Repository.PathOf("eng", "setup"), "failover"], cancellation: cancellation) != 0)
            throw new ToolException("NOT RUN: the tests of failover need pg_auto_failover: eng/setup failover");
    }

    private static async Task<int> RunAsync(SystemSettings settings, CancellationToken cancellation)
    {
        await Publishing.PrepareAsync(settings, cancellation);
        await InstallAsync(cancellation);
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
        return status;
    }
}
