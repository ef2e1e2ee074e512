using CliWrap;

namespace PaymentGateway.Tools;

/// <summary>Runs a program whose output goes into a file.</summary>
public static class LoggedCommand
{
    /// <summary>A cancelled one is asked to end, and waited for: it puts away what it has started.</summary>
    /// <returns>Its status.</returns>
    public static async Task<int> RunAsync(
        IReadOnlyList<string> command,
        string log,
        string? directory = null,
        IReadOnlyDictionary<string, string?>? variables = null,
        CancellationToken cancellation = default)
    {
        await using var file = File.CreateText(log);
        var lines = PipeTarget.ToDelegate(Write);
        var result = await Cli.Wrap(command[0]).WithArguments(command.Skip(1))
            .WithWorkingDirectory(directory ?? Repository.Root)
            .WithEnvironmentVariables(variables ?? new Dictionary<string, string?>())
            .WithStandardOutputPipe(lines).WithStandardErrorPipe(lines)
            .WithValidation(CommandResultValidation.None)
            .ExecuteAsync(CancellationToken.None, cancellation);
        return result.ExitCode;

        void Write(string line)
        {
            lock (file)
                file.WriteLine(line);
        }
    }
}
