using System.Text.Json;
using CliWrap;

namespace PaymentGateway.Tools.Containers;

/// <summary>The client of one engine. Its calls end with their own status; nothing is thrown for one.</summary>
internal sealed class Docker(IEngine engine, CancellationToken cancellation)
{
    public const string Project = "payment-gateway-test";

    public const string ProjectLabel = $"com.docker.compose.project={Project}";

    public IEngine Engine => engine;

    public CancellationToken Cancellation => cancellation;

    /// <summary>The same, for what has to be put away however the run has ended.</summary>
    public Docker Uncancelled() => new(engine, CancellationToken.None);

    public Task<ShellResult> RunAsync(params string[] arguments) =>
        Shell.RunAsync([engine.Client, .. arguments], variables: engine.Variables, cancellation: cancellation);

    /// <exception cref="ToolException">It failed.</exception>
    public async Task<string> ReadAsync(params string[] arguments)
    {
        var result = await RunAsync(arguments);
        return result.Succeeded
            ? result.Output.TrimEnd()
            : throw new ToolException($"docker {arguments[0]} failed: {result.Errors.Trim()}");
    }

    /// <summary>The same command with streams of the caller's.</summary>
    public Command Command(params string[] arguments) => Cli.Wrap(engine.Client).WithArguments(arguments)
        .WithWorkingDirectory(Repository.Root).WithEnvironmentVariables(engine.Variables);

    /// <summary>Null when there is no such container.</summary>
    public async Task<ContainerState?> InspectAsync(string container)
    {
        var result = await RunAsync("container", "inspect", container);
        return result.Succeeded ? ContainerState.Parse(result.Output) : null;
    }

    /// <summary>The bytes of an image.</summary>
    public async Task<long> SizeAsync(string image)
    {
        using var inspected = JsonDocument.Parse(await ReadAsync("image", "inspect", image));
        return inspected.RootElement[0].GetProperty("Size").GetInt64();
    }

    /// <summary>A command where the engine's processes are.</summary>
    public Task<ShellResult> RunInsideAsync(params string[] command) =>
        Shell.RunAsync(engine.Inside(command), cancellation: cancellation);

    /// <summary>
    /// Kills what a container runs from outside, as a crash does. An engine in a machine of its own has other processes
    /// behind the same numbers.
    /// </summary>
    public async Task<bool> KillProcessAsync(ContainerState container) => await CanKillAsync(container)
        && (await RunInsideAsync("kill", "-KILL", $"{container.State.Pid}")).Succeeded;

    public async Task<bool> CanKillAsync(ContainerState container)
    {
        if (container.State.Pid <= 1)
            return false;
        var groups = await RunInsideAsync("cat", $"/proc/{container.State.Pid}/cgroup");
        return groups.Succeeded && groups.Output.Contains(container.Id, StringComparison.Ordinal)
            && (await RunInsideAsync("kill", "-0", $"{container.State.Pid}")).Succeeded;
    }
}
