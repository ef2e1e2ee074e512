using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring.Sections;

/// <summary>What tests/PaymentGateway.Benchmarks measures in one process: inner pieces, bytes per payment.</summary>
internal static class InnerSections
{
    /// <summary>BenchmarkDotNet, short job: time and bytes of the inner pieces.</summary>
    public static async Task RunInnerAsync(Bench bench, CancellationToken cancellation)
    {
        var log = Path.Combine(bench.Folder, "inner.log");
        var status = await LoggedCommand.RunAsync(
            [TestPrograms.Benchmarks(bench.Settings.System), "inner"], log, bench.Folder, cancellation: cancellation);
        if (status != 0)
            throw new ToolException($"the benchmarks failed; log: {log}");

        bench.Report.Tell("");
        bench.Report.Tell($"Inner pieces, {FrameworkOf(bench)} (JIT), short job of BenchmarkDotNet");
        foreach (var line in BenchmarkTables.In(await File.ReadAllTextAsync(log, cancellation)))
            bench.Report.Tell(line);
    }

    /// <summary>Bytes per payment by a whole gateway, in one process with its load; TYPES=1: of which types.</summary>
    public static async Task RunBytesAsync(Bench bench, CancellationToken cancellation)
    {
        await using var side = bench.Prepare();
        await side.System.StartAsync([PartNames.Postgres, PartNames.Default, PartNames.Fallback], cancellation);
        bench.Report.Tell("");
        bench.Report.Tell("Bytes allocated per payment by one gateway: Kestrel, Npgsql and HTTP client included, "
            + $"{FrameworkOf(bench)} (JIT), no nginx");
        bench.Report.Tell("");
        List<string> command = [TestPrograms.Benchmarks(bench.Settings.System), "allocations", side.EnvironmentFile];
        if (bench.Settings.TellsTypes)
            command.Add("types");
        var bytes = await Shell.RunAsync(command, cancellation: cancellation);
        bench.Report.Tell(bytes.Output.TrimEnd('\n'));
        if (!bytes.Succeeded)
            throw new ToolException($"the bytes could not be counted: {bytes.Errors.Trim()}");
    }

    private static string FrameworkOf(Bench bench) =>
        bench.Settings.System.Framework ?? Repository.DefaultFramework();
}
