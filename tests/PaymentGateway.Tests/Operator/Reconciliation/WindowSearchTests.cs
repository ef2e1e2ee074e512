using System.Numerics;
using PaymentGateway.Operator.Reconciliation;

namespace PaymentGateway.Tests.Operator.Reconciliation;

/// <summary>The halving, on two lists of instants in place of the ledger and a processor.</summary>
public sealed class WindowSearchTests
{
    private const int CentsOfLedger = 1;
    private const int CentsOfProcessor = 1_000_003;

    private static readonly DateTime Start = new(2026, 11, 23, 12, 0, 0, DateTimeKind.Utc);

    // However many of either, their sums never cancel each other out.
    [Property(MaxTest = 300)]
    public void Every_millisecond_that_differs_is_found_and_no_other_and_the_questions_are_few(
        PositiveInt seconds, NonNegativeInt[] common, NonNegativeInt[] lacking, NonNegativeInt[] unknown)
    {
        var all = new TimeWindow(Start, Start.AddSeconds(seconds.Get * 37));
        var shared = common.Select(at => At(all, at)).ToList();
        var ledger = shared.Concat(lacking.Select(at => At(all, at))).ToList();
        var held = shared.Concat(unknown.Select(at => At(all, at))).ToList();
        var calls = 0;

        var found = Find(all, window =>
        {
            calls++;
            return new Comparison(
                Of(ledger, window, shared.Count, CentsOfLedger), Of(held, window, shared.Count, CentsOfProcessor));
        });

        Assert.Equal(
            lacking.Concat(unknown).Select(at => TimeWindow.Outward(At(all, at), At(all, at))).Distinct()
                .OrderBy(at => at.From),
            found.Select(one => one.Window));
        var levels = BitOperations.Log2((uint)all.Length.TotalMilliseconds) + 1;
        Assert.InRange(calls, 1, 1 + 2 * 2_048 + 2 * levels * (lacking.Length + unknown.Length));
    }

    [Theory]
    [InlineData(8, 1, 1 + 2 + 4 + 8)]
    [InlineData(100_000_000, 0, 1)]
    public void A_window_that_agrees_is_halved_down_to_parts_of_a_second_unless_it_is_empty(
        int seconds, int payments, int expected)
    {
        var calls = 0;

        var found = Find(new TimeWindow(Start, Start.AddSeconds(seconds)), _ =>
        {
            calls++;
            return new Comparison(new Sums(payments, payments), new Sums(payments, payments));
        });

        Assert.Empty(found);
        Assert.Equal(expected, calls);
    }

    // One is lacking and another one is beyond the ledger, with the same amount.
    [Theory]
    [InlineData(3_000, 2)]
    [InlineData(400, 0)]
    public void Two_that_cancel_each_other_out_are_found_where_they_are_parts_apart(int apartMs, int expected)
    {
        var all = new TimeWindow(Start, Start.AddSeconds(16));
        var (ledger, held) = (new[] { Start.AddSeconds(5) }, new[] { Start.AddSeconds(5).AddMilliseconds(apartMs) });

        var found = Find(all, window => new Comparison(Of(ledger, window, 1, 1), Of(held, window, 1, 1)));

        Assert.Equal(expected, found.Count);
    }

    [Fact]
    public void A_window_whose_parts_agree_and_whose_sums_do_not_is_found_as_it_is()
    {
        var all = new TimeWindow(Start, Start.AddSeconds(1));

        var found = Find(all, window => window == all
            ? new Comparison(new Sums(2, 2), new Sums(1, 1))
            : new Comparison(default, default));

        Assert.Equal(all, Assert.Single(found).Window);
    }

    [Fact]
    public void No_more_are_found_than_are_asked_for()
    {
        var all = new TimeWindow(Start, Start.AddSeconds(10));
        var held = Enumerable.Range(0, 500).Select(at => Start.AddMilliseconds(at * 7)).ToList();

        Assert.Equal(20, Find(all, window => new Comparison(default, Of(held, window, 0, 1)), most: 20).Count);
    }

    private static List<DifferingWindow> Find(
        TimeWindow all, Func<TimeWindow, Comparison> compare, int most = int.MaxValue) =>
        WindowSearch.FindAsync(
            Known.Default, all, compare(all), most, window => Task.FromResult(compare(window))).Result;

    // As ledger and processors sum up: both bounds inclusive.
    private static Sums Of(IReadOnlyList<DateTime> instants, TimeWindow window, int shared, int cents)
    {
        var sums = default(Sums);
        for (var at = 0; at < instants.Count; at++)
            if (instants[at] >= window.From && instants[at] <= window.Last)
                sums += new Sums(1, at < shared ? 1 : cents);
        return sums;
    }

    // Spread over the window, in whole microseconds; some are the first instant of a millisecond.
    private static DateTime At(TimeWindow all, NonNegativeInt at)
    {
        var microseconds = all.Length.Ticks / TimeSpan.TicksPerMicrosecond;
        var offset = at.Get * 7_919_000_011L % microseconds;
        return all.From.AddTicks((at.Get % 3 == 0 ? offset - offset % 1_000 : offset) * TimeSpan.TicksPerMicrosecond);
    }
}
