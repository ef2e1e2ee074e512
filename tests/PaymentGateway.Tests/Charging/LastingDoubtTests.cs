namespace PaymentGateway.Tests.Charging;

public sealed class LastingDoubtTests
{
    private readonly FakeTimeProvider _clock = new();

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
        await using var stages = Stages.BuildLanes(nowhere, nowhere, _clock);
        await stages.StartAsync<DoubtResolver>();
        var payment = Batches.NewPayment();
        payment.Adopt(Known.AtBoth, since: 0);
        stages.Open.Add(payment);
        var began = _clock.GetUtcNow();

        stages.Doubts.Add(payment);
        await _clock.AdvancesUntilAsync(
            () => _clock.GetUtcNow() - began > TimeSpan.FromHours(2) && Shown().Count > 2, TimeSpan.FromSeconds(20),
            "it is logged again and again");

        Assert.Equal((1, 1), (stages.Doubts.Count, stages.Open.Count));
        var took = _clock.GetUtcNow() - began;
        Assert.InRange(Shown().Count, 3, took.TotalMinutes);
        Assert.All(Shown(), line => Assert.Matches(
            $"^1 payments are in doubt; {payment.Id} has been for [0-9]+ s, at default or fallback: "
                + "no look-up has an answer$",
            line));

        IReadOnlyCollection<string> Shown() => stages.ShownOf<DoubtResolver>();
    }
}
