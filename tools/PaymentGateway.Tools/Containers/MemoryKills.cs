using System.Collections.Concurrent;
using CliWrap;

namespace PaymentGateway.Tools.Containers;

/// <summary>
/// The project's containers that the kernel has killed for memory. Written down as it happens: a container that
/// restarts counts anew, and the engine itself forgets.
/// </summary>
internal sealed class MemoryKills(Docker docker) : IDisposable
{
    /// <summary>The container that has to be killed, so that it is known that a kill is seen.</summary>
    public const string Proof = $"{Docker.Project}-oom";

    private readonly ConcurrentQueue<string> _killed = new();
    private volatile bool _proven;
    private CancellationTokenSource? _watch;
    private Task _watching = Task.CompletedTask;

    public bool ProofWasSeen => _proven;

    /// <summary>Begins, and begins again after the engine was unavailable.</summary>
    public void Watch()
    {
        _watch?.Cancel();
        _watch?.Dispose();
        _watch = CancellationTokenSource.CreateLinkedTokenSource(docker.Cancellation);
        _watching = WatchAsync(_watch.Token);
    }

    /// <summary>Those since the last look.</summary>
    public IReadOnlyList<string> Take()
    {
        var taken = new List<string>();
        while (_killed.TryDequeue(out var name))
            taken.Add(name);
        return taken;
    }

    public void Dispose()
    {
        _watch?.Cancel();
        _watching.Wait(TimeSpan.FromSeconds(5));
        _watch?.Dispose();
    }

    private async Task WatchAsync(CancellationToken cancellation)
    {
        var events = docker.Command(
            "events", "--filter", "event=oom", "--filter", $"label={Docker.ProjectLabel}",
            "--format", "{{.Actor.Attributes.name}}");
        try
        {
            await (events | Note).WithValidation(CommandResultValidation.None).ExecuteAsync(cancellation);
        }
        catch (OperationCanceledException)
        {
            // Nobody looks any more.
        }
    }

    private void Note(string name)
    {
        if (name == Proof)
            _proven = true;
        else
            _killed.Enqueue(name);
    }
}
