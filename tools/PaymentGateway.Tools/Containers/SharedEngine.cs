using System.Net.Sockets;

namespace PaymentGateway.Tools.Containers;

/// <summary>The engine that runs here already. Others use it, so only what a run has made is removed.</summary>
internal sealed class SharedEngine : IEngine
{
    public bool IsOwn => false;

    public string Group { get; } = $"payment-gateway-compose.{Environment.ProcessId}";

    public string Client => "docker";

    public IReadOnlyDictionary<string, string?> Variables { get; } =
        new Dictionary<string, string?> { ["COMPOSE_PROJECT_NAME"] = Docker.Project };

    public IReadOnlyList<string> Inside(params string[] command) => command;

    public Socket NewSocket() => new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);

    public ValueTask DisposeAsync() => ValueTask.CompletedTask;
}
