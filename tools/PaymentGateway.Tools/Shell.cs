using CliWrap;
using CliWrap.Buffered;

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

    private static Command Command(
        IReadOnlyList<string> command, string? directory, IReadOnlyDictionary<string, string?>? variables) =>
        Cli.Wrap(command[0]).WithArguments(command.Skip(1))
            .WithWorkingDirectory(directory ?? Repository.Root)
            .WithEnvironmentVariables(variables ?? new Dictionary<string, string?>())
            .WithValidation(CommandResultValidation.None);
}

/// <summary>Looks for other programs where a shell would.</summary>
internal static class Programs
{
    /// <summary>Our path, and where nginx and what only root uses are, which a plain user's path lacks.</summary>
    public static string SearchPath { get; } = $"{Environment.GetEnvironmentVariable("PATH")}:/usr/sbin:/sbin";

    /// <summary>Null when it is nowhere.</summary>
    public static string? Find(string name) => SearchPath.Split(':')
        .Select(folder => Path.Combine(folder, name)).FirstOrDefault(File.Exists);

    public static bool Has(string name) => Find(name) is not null;

    public static void Demand(string name)
    {
        if (!Has(name))
            throw new ToolException($"{name} is missing (Debian: apt-get install {name})");
    }
}
