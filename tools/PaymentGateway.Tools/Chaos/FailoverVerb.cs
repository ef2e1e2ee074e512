using System.CommandLine;

namespace PaymentGateway.Tools.Chaos;

/// <summary>The database fails over under load, by each fault in turn; the rig itself is a test.</summary>
internal static class FailoverVerb
{
    public static Command Create()
    {
        var load = new Argument<string?>("load")
        {
            Description = "preview: it rises to 550/s in a minute; 500/s when nothing is said",
            Arity = ArgumentArity.ZeroOrOne,
        };
        load.AcceptOnlyFromAmong("preview");
        var verb = new Command("ha", "The database fails over under load; prints a table of the faults.") { load };
        verb.SetAction((parsed, cancellation) =>
            RunAsync(SystemSettings.FromEnvironment(), parsed.GetValue(load), cancellation));
        return verb;
    }

    private static async Task<int> RunAsync(SystemSettings settings, string? load, CancellationToken cancellation)
    {
        if (!Environment.IsPrivilegedProcess)
            throw new ToolException("NOT RUN: only root may make networks to cut");
        await Publishing.PrepareAsync(settings, cancellation);
        if (await Shell.ShowAsync(
            [Repository.PathOf("eng", "setup"), "failover"], cancellation: cancellation) != 0)
            throw new ToolException("NOT RUN: pg_auto_failover is missing (eng/setup failover)");
        var folder = Directory.CreateDirectory(Repository.PathOf("artifacts", "failover")).FullName;
        var (table, log) = (Path.Combine(folder, "table.md"), Path.Combine(folder, "log"));
        File.Delete(table);
        var status = await LoggedCommand.RunAsync(
            [
                "dotnet", "test", ChaosVerb.Tests, "-c", "Release", "-tl:off",
                "--filter", "FullyQualifiedName~FailoverTests",
            ],
            log,
            variables: new Dictionary<string, string?>(Publishing.TestVariables(settings))
            {
                ["HA_TABLE"] = table,
                ["HA_LOAD"] = load,
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
