namespace PaymentGateway.Tests.Settling;

/// <summary>Doubt that nothing resolves for hours: it stays, is asked for at a bounded rate, and is told.</summary>
public sealed class LastingDoubtTests
{
    private readonly FakeTimeProvider _clock = new();
    private readonly LogLines<DoubtResolver> _log = new();

    [Theory]
    [InlineData(1)]
    [InlineData(500)]
    [InlineData(4_000)]
    [InlineData(30_000)]
    public void Payments_in_doubt_are_looked_up_500_times_a_second_at_most_however_many_they_are(int count)
    {
        var (waits, longest, minute) = (new ResolvingWait(), ResolvingWait.Longest(count), TimeSpan.FromMinutes(1));
        var lookUps = 0;

        for (var payment = 0; payment < count; payment++)
            for (var at = Wait(); at < minute; at += Wait())
                lookUps++;

        // The waits are random: some per cent more in one minute, less in another.
        Assert.InRange(lookUps / minute.TotalSeconds, 0, 520);

        TimeSpan Wait() => waits.Next(longest, TimeSpan.Zero);
    }

    [Fact]
    public async Task A_payment_in_doubt_is_never_abandoned_and_is_logged_once_a_minute()
    {
        // Nobody listens there.
        var nowhere = new Uri("http://127.0.0.1:1/");
        using var lanes = Lanes.Build(nowhere, nowhere, _clock);
        var options = TestSettings.Read();
        using var metrics = new GatewayMetrics(options);
        var lease = new Lease(_clock, new LeasingOptions(TimeSpan.FromDays(9), TimeSpan.FromSeconds(1)));
        lease.Confirm(1, _clock.GetTimestamp());
        var unsettled = new UnsettledPayments(_clock);
        using var outcomes = new UnwrittenOutcomes(options.Ledger.Recording, _clock);
        var owned = new OwnedPayments(
            lease, outcomes, unsettled, null!, metrics, _clock, NullLogger<OwnedPayments>.Instance);
        var doubts = new DoubtQueue(_clock);
        using var resolver = new DoubtResolver(
            doubts, lanes.Both, new PaymentQueue(options.Intake), owned, options.Settling, metrics, _clock, _log);
        await resolver.StartAsync(CancellationToken.None);
        var payment = Lanes.NewPayment();
        unsettled.Add(payment);
        var began = _clock.GetUtcNow();

        doubts.Add(payment);
        await Eventually.HoldsAsync(
            () =>
            {
                _clock.Advance(TimeSpan.FromSeconds(20));
                return _clock.GetUtcNow() - began > TimeSpan.FromHours(2) && _log.Shown.Count > 2;
            },
            "it is told again and again");

        Assert.Equal((1, 1), (doubts.Count, unsettled.Count));
        var took = _clock.GetUtcNow() - began;
        Assert.InRange(_log.Shown.Count, 3, took.TotalMinutes);
        Assert.All(_log.Shown, line => Assert.StartsWith(
            $"1 payments are in doubt, {payment.Id}", line, StringComparison.Ordinal));
        Assert.All(_log.Shown, line => Assert.Matches(" for [0-9]+ s$", line));
        await resolver.StopAsync(CancellationToken.None);
    }
}
