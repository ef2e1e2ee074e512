namespace PaymentGateway.Tests.Support;

/// <summary>The published gateway as a child of the tests: its exit code and what it writes can be seen.</summary>
public sealed class GatewaySystemInstance : IAsyncDisposable
{
    private readonly Process _process;
    private readonly Task<string> _output;
    private readonly Task<string> _errors;

    private GatewaySystemInstance(Process process)
    {
        _process = process;
        _output = process.StandardOutput.ReadToEndAsync();
        _errors = process.StandardError.ReadToEndAsync();
    }

    /// <param name="under">A program, with arguments, that starts it in its own place, such as prlimit.</param>
    public static GatewaySystemInstance Start(IReadOnlyDictionary<string, string?> settings, params string[] under)
    {
        string[] command = [.. under, GatewaySystemParts.Gateway];
        var start = new ProcessStartInfo(command[0], command.Skip(1))
        {
            WorkingDirectory = Path.GetDirectoryName(GatewaySystemParts.Gateway)!,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        SystemEnvironment.Fill(start.Environment, GatewaySystemSettings.OfShell, settings);
        return new GatewaySystemInstance(Process.Start(start)!);
    }

    public void Terminate() => Send(Signal.Terminate);

    public void Send(Signal signal) => Posix.Send(_process.Id, signal);

    /// <summary>The resident memory now, bytes: all of it, and what is no page of a file.</summary>
    public (long All, long Anonymous) ResidentBytes()
    {
        var lines = File.ReadAllLines($"/proc/{_process.Id}/status");
        return (Of("VmRSS:"), Of("RssAnon:"));

        long Of(string name) => 1024 * long.Parse(
            lines.Single(line => line.StartsWith(name, StringComparison.Ordinal))[name.Length..^"kB".Length].Trim(),
            CultureInfo.InvariantCulture);
    }

    public IReadOnlyList<string> Libraries() => File.ReadLines($"/proc/{_process.Id}/maps")
        .Select(line => Path.GetFileName(line)).Where(name => name.Contains(".so", StringComparison.Ordinal))
        .Distinct().ToList();

    /// <exception cref="TimeoutException">It did not come in time.</exception>
    public async Task<(int ExitCode, string Output, string Errors)> EndAsync(TimeSpan within)
    {
        await _process.WaitForExitAsync().WaitAsync(within);
        return (_process.ExitCode, await _output, await _errors);
    }

    public async ValueTask DisposeAsync()
    {
        if (!_process.HasExited)
        {
            _process.Kill();
            await _process.WaitForExitAsync();
        }

        _process.Dispose();
    }
}
