using System.Text.Json;

namespace PaymentGateway.Tools.Containers;

/// <summary>What `docker inspect` says of a container.</summary>
public sealed record ContainerState(string Id, int RestartCount, ContainerProcess State)
{
    public bool IsHealthy => State.Health?.Status == "healthy";

    /// <summary>It ended and nothing starts it again.</summary>
    public bool IsDown => State.Status == "exited";

    /// <param name="inspected">The array that `docker inspect` prints.</param>
    public static ContainerState Parse(string inspected) =>
        JsonSerializer.Deserialize<ContainerState[]>(inspected)![0];
}

/// <summary>A container's first process.</summary>
/// <param name="Pid">In the engine's namespace; 0 when it does not run.</param>
/// <param name="Health">Null when it has no health check.</param>
public sealed record ContainerProcess(int Pid, string Status, ContainerHealth? Health);

/// <summary>What a container's health check has found.</summary>
public sealed record ContainerHealth(string Status);
