using PaymentGateway.Timing;

namespace PaymentGateway.Leasing;

/// <summary>Whether somebody watches this instance or another one (/ops). Safe from any thread.</summary>
/// <remarks>
/// Told of by the renewals of the lease, so that an instance which nobody watches asks for nothing.
/// </remarks>
internal sealed class Audience(TimeProvider clock)
{
    private long _elsewhereUntil = long.MinValue;
    private int _here;

    /// <summary>Set when somebody may have begun to watch.</summary>
    public AsyncAutoResetEvent Came { get; } = new(clock);

    /// <summary>How many watch this instance.</summary>
    public int Here => Volatile.Read(ref _here);

    /// <summary>Somebody watches, here or elsewhere.</summary>
    public bool IsThere => Here > 0 || clock.GetTimestamp() < Volatile.Read(ref _elsewhereUntil);

    /// <summary>Lets one more watch here, up to a limit; <see cref="Leave"/> is due then.</summary>
    public bool TryJoin(int limit)
    {
        if (Interlocked.Increment(ref _here) > limit)
        {
            Interlocked.Decrement(ref _here);
            return false;
        }

        Came.Set();
        return true;
    }

    /// <summary>One who joined has gone.</summary>
    public void Leave() => Interlocked.Decrement(ref _here);

    /// <summary>What a renewal says: whether somebody watches some instance. It holds for so long.</summary>
    public void HearOf(bool isWatched, TimeSpan duration)
    {
        if (!isWatched)
            return;

        Volatile.Write(ref _elsewhereUntil, clock.GetTimestamp() + clock.TicksOf(duration));
        Came.Set();
    }
}
