namespace PaymentGateway.Showing;

/// <summary>
/// When an instance reads how it is doing: as a second begins, and never soon after the reading before.
/// </summary>
internal sealed class ReadingTimes(TimeProvider clock)
{
    public static readonly TimeSpan Period = TimeSpan.FromSeconds(1);

    private long _before;

    /// <summary>The next reading counts from here.</summary>
    public void Begin() => _before = clock.GetTimestamp();

    /// <summary>Waits until the next reading is due; it covers half a period at least.</summary>
    public async Task NextAsync(CancellationToken cancellation)
    {
        var wait = Period - TimeSpan.FromTicks(clock.GetUtcNow().Ticks % Period.Ticks);
        // Rates of a moment would be zero or absurd; it is one where the wait before has ended early or very late.
        if (clock.GetElapsedTime(_before) + wait < Period / 2)
            wait += Period;
        // A timer drops what is no whole millisecond, and would end before the second does.
        await Task.Delay(TimeSpan.FromMilliseconds(Math.Ceiling(wait.TotalMilliseconds)), clock, cancellation);
        _before = clock.GetTimestamp();
    }
}
