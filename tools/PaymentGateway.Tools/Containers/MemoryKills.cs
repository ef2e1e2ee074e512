using System.Collections.Concurrent;
using CliWrap;

namespace PaymentGateway.Tools.Containers;

/// <summary>
/// The project's containers that the kernel has killed for memory. Written down as it happens: a container that
/// restarts counts anew, and the engine itself forgets.
/// </summary>
internal sealed class MemoryKills(Docker docker) : IDisposable
{
    private readonly ConcurrentQueue<string> _killed = new();
    private CancellationTokenSource _watch = new();

    /// <summary>Begins, and begins again after the engine was unavailable.</summary>
    public void Watch()
    {
        Dispose();
        _watch = CancellationTokenSource.CreateLinkedTokenSource(docker.Cancellation);
        _ = WatchAsync(_watch.Token);
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
        _watch.Cancel();
        _watch.Dispose();
    }

    private async Task WatchAsync(CancellationToken cancellation)
    {
        var events = Cli.Wrap("docker").WithValidation(CommandResultValidation.None).WithArguments(
        [
            "events", "--filter", "event=oom", "--filter", $"label={Docker.ProjectLabel}",
            "--format", "{{.Actor.Attributes.name}}",
        ]);
        try
        {
            await (events | _killed.Enqueue).ExecuteAsync(cancellation);
        }
        catch (OperationCanceledException)
        {
            // Nobody looks any more.
        }
    }
}
