namespace PaymentGateway.Tests.Compose;

/// <summary>A program run to its end: exit code, what it said, how long it took.</summary>
internal sealed record ProgramRun(int ExitCode, string Output, string Errors, TimeSpan Took)
{
    private static readonly TimeSpan TimeLimit = TimeSpan.FromSeconds(20);

    public static async Task<ProgramRun> RunAsync(
        IReadOnlyList<string> command, string? directory = null, params (string Name, string? Value)[] variables)
    {
        var start = new ProcessStartInfo(command[0], command.Skip(1))
        {
            WorkingDirectory = directory ?? Repository.Root,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        start.Environment["PATH"] += ":/usr/sbin:/sbin";
        foreach (var (name, value) in variables)
            start.Environment[name] = value;

        var waited = Stopwatch.StartNew();
        using var process = Process.Start(start)!;
        var output = process.StandardOutput.ReadToEndAsync();
        var errors = process.StandardError.ReadToEndAsync();
        await process.WaitForExitAsync().WaitAsync(TimeLimit);
        return new ProgramRun(process.ExitCode, await output, await errors, waited.Elapsed);
    }
}
