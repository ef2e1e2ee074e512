using System.Diagnostics;
using CliWrap;
using CliWrap.Buffered;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools;

/// <summary>How a command ended and what it wrote.</summary>
public sealed record ShellResult(int Status, string Output, string Errors)
{
    public bool Succeeded => Status == 0;
}

/// <summary>Runs other programs to their end. Variables come on top of ours; one that is null is taken away.</summary>
public static class Shell
{
    /// <summary>Collects what it writes. Its status is for the caller to judge.</summary>
    public static async Task<ShellResult> RunAsync(
        IReadOnlyList<string> command,
        string? directory = null,
        IReadOnlyDictionary<string, string?>? variables = null,
        string? input = null,
        CancellationToken cancellation = default)
    {
        var result = await Command(command, directory, variables)
            .WithStandardInputPipe(input is null ? PipeSource.Null : PipeSource.FromString(input))
            .ExecuteBufferedAsync(cancellation);
        return new ShellResult(result.ExitCode, result.StandardOutput, result.StandardError);
    }

    /// <summary>What it writes, without the last line's end.</summary>
    /// <exception cref="ToolException">It failed.</exception>
    public static async Task<string> ReadAsync(
        IReadOnlyList<string> command, string? directory = null, CancellationToken cancellation = default)
    {
        var result = await RunAsync(command, directory, cancellation: cancellation);
        return result.Succeeded
            ? result.Output.TrimEnd('\n')
            : throw new ToolException($"{string.Join(' ', command)} failed: {result.Errors.Trim()}");
    }

    /// <summary>It has our terminal, also to ask. A cancelled one is interrupted, and waited for.</summary>
    public static async Task<int> ShowAsync(
        IReadOnlyList<string> command,
        string? directory = null,
        IReadOnlyDictionary<string, string?>? variables = null,
        CancellationToken cancellation = default)
    {
        var start = new ProcessStartInfo(command[0], command.Skip(1))
        {
            WorkingDirectory = directory ?? Repository.Root,
        };
        foreach (var (name, value) in variables ?? new Dictionary<string, string?>())
            if (value is null)
                start.Environment.Remove(name);
            else
                start.Environment[name] = value;

        using var process = Process.Start(start)!;
        try
        {
            await process.WaitForExitAsync(cancellation);
        }
        catch (OperationCanceledException)
        {
            Posix.Send(process.Id, Signal.Interrupt);
            await process.WaitForExitAsync(CancellationToken.None);
        }

        return process.ExitCode;
    }

    private static Command Command(
        IReadOnlyList<string> command, string? directory, IReadOnlyDictionary<string, string?>? variables) =>
        Cli.Wrap(command[0]).WithArguments(command.Skip(1))
            .WithWorkingDirectory(directory ?? Repository.Root)
            .WithEnvironmentVariables(variables ?? new Dictionary<string, string?>())
            .WithValidation(CommandResultValidation.None);
}
