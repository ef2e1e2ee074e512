namespace PaymentGateway.Tools.Containers;

/// <summary>
/// The client of the engine that the script `engine` has chosen. Its calls end with their own status; nothing is thrown
/// for one.
/// </summary>
internal sealed class Docker(CancellationToken cancellation)
{
    public const string Project = "payment-gateway-test";

    public const string ProjectLabel = $"com.docker.compose.project={Project}";

    // The scratch folder of an engine of our own.
    private static readonly string? Folder = Environment.GetEnvironmentVariable("ENGINE");

    public static bool IsOwn => Folder is not null;

    public CancellationToken Cancellation => cancellation;

    public Task<ShellResult> RunAsync(params string[] arguments) =>
        Shell.RunAsync(["docker", .. arguments], cancellation: cancellation);

    /// <summary>Null when there is no such container.</summary>
    public async Task<ContainerState?> InspectAsync(string container)
    {
        var result = await RunAsync("container", "inspect", "-f", ContainerState.Format, container);
        return result.Succeeded ? ContainerState.Parse(result.Output) : null;
    }

    /// <summary>
    /// Kills what a container runs from outside, as a crash does. An engine in a machine of its own has other processes
    /// behind the same numbers.
    /// </summary>
    public async Task<bool> KillProcessAsync(ContainerState container) => await CanKillAsync(container)
        && (await RunInsideAsync("kill", "-KILL", $"{container.Pid}")).Succeeded;

    public async Task<bool> CanKillAsync(ContainerState container)
    {
        if (container.Pid <= 1)
            return false;
        var groups = await RunInsideAsync("cat", $"/proc/{container.Pid}/cgroup");
        return groups.Succeeded && groups.Output.Contains(container.Id, StringComparison.Ordinal);
    }

    /// <summary>Ends an engine of our own with all that it runs, and starts it again.</summary>
    public async Task CutPowerAsync()
    {
        await Shell.ReadAsync(["kill", "-KILL", await EnginePidAsync()], cancellation: cancellation);
        await Shell.ReadAsync(
            [Repository.PathOf("tools", "PaymentGateway.Tools", "Containers", "start-engine")],
            cancellation: cancellation);
    }

    // A command where the engine's processes are.
    private async Task<ShellResult> RunInsideAsync(params string[] command) => await Shell.RunAsync(
        IsOwn ? ["nsenter", "--target", await EnginePidAsync(), "--mount", "--pid", "--", .. command] : command,
        cancellation: cancellation);

    private async Task<string> EnginePidAsync() =>
        (await File.ReadAllTextAsync(Path.Combine(Folder!, "engine.pid"), cancellation)).Trim();
}

/// <summary>What `docker inspect` says of a container and of its first process.</summary>
/// <param name="Pid">In the engine's namespace; 0 when it does not run.</param>
/// <param name="Health">Empty when it has no health check.</param>
public sealed record ContainerState(string Id, int RestartCount, int Pid, string Status, string Health)
{
    public const string Format =
        "{{.Id}} {{.RestartCount}} {{.State.Pid}} {{.State.Status}} {{with .State.Health}}{{.Status}}{{end}}";

    public bool IsHealthy => Health == "healthy";

    /// <summary>It ended and nothing starts it again.</summary>
    public bool IsDown => Status == "exited";

    /// <param name="line">What is printed in this format.</param>
    public static ContainerState Parse(string line)
    {
        var words = line.TrimEnd('\n').Split(' ');
        return new ContainerState(
            words[0], int.Parse(words[1], CultureInfo.InvariantCulture),
            int.Parse(words[2], CultureInfo.InvariantCulture), words[3], words[4]);
    }
}
