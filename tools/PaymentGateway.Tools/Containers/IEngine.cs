using System.Net.Sockets;

namespace PaymentGateway.Tools.Containers;

/// <summary>A Docker engine, and how to reach what it runs.</summary>
internal interface IEngine : IAsyncDisposable
{
    /// <summary>Nobody else uses it, so it may be killed.</summary>
    bool IsOwn { get; }

    /// <summary>Marks what a run has made, and the cgroups of an engine of its own.</summary>
    string Group { get; }

    /// <summary>The client's program.</summary>
    string Client { get; }

    /// <summary>What the client needs to find this engine, on top of our own environment.</summary>
    IReadOnlyDictionary<string, string?> Variables { get; }

    /// <summary>A command as it runs where the engine's processes and ports are.</summary>
    IReadOnlyList<string> Inside(params string[] command);

    /// <summary>A socket in the network of the engine's published ports.</summary>
    Socket NewSocket();
}
