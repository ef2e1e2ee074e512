using System.Diagnostics;

namespace PaymentGateway.Tools.Running;

/// <summary>Waits for a condition that can only be asked for again and again.</summary>
internal sealed class Waiting(TimeSpan limit)
{
    private static readonly TimeSpan Interval = TimeSpan.FromMilliseconds(10);

    private readonly Stopwatch _waited = Stopwatch.StartNew();

    public bool IsOver => _waited.Elapsed >= limit;

    public static Task PauseAsync(CancellationToken cancellation = default) => Task.Delay(Interval, cancellation);

    public static async Task UntilAsync(Func<bool> holds, CancellationToken cancellation = default)
    {
        while (!holds())
            await PauseAsync(cancellation);
    }
}
