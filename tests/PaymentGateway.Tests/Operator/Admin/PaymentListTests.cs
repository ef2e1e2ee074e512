using static PaymentGateway.Tests.Operator.Admin.PaymentViews;

namespace PaymentGateway.Tests.Operator.Admin;

public sealed class PaymentListTests : OneGateway
{
    [PostgresFact]
    public async Task While_others_come_and_all_are_settled_each_payment_is_listed_exactly_once()
    {
        await Rig.Default.SetFailureAsync(true);
        var before = new List<Guid>();
        for (var i = 0; i < 150; i++)
            before.Add(await Gateway.PayAsync());
        using var over = new CancellationTokenSource();
        var paying = PayUntilAsync(over.Token);

        // The first page of the first list is read before any can be settled.
        var (first, next) = await Gateway.PageAsync("limit=7");
        await Rig.Default.SetFailureAsync(false);
        while (next is not null)
        {
            (var page, next) = await Gateway.PageAsync($"limit=7&after={next}");
            first.AddRange(page);
        }

        var listed = new List<List<JsonElement>> { first };
        while (await Rig.CountSettledAsync() < before.Count)
            listed.Add(await Gateway.FollowAsync("limit=7"));
        await over.CancelAsync();
        var after = await paying;

        Assert.All(listed, list =>
        {
            var ids = list.Ids().ToList();
            Assert.Equal(ids.Count, ids.Distinct().Count());
            Assert.Empty(before.Except(ids));
            Assert.Empty(ids.Except(before).Except(after));
        });
        Assert.Contains(first, payment => payment.Text("state") == "accepted");
    }

    [PostgresFact]
    public async Task The_newest_come_first_50_at_a_time_and_200_at_most()
    {
        for (var i = 0; i < 60; i++)
            await Gateway.PayAsync();
        await Rig.LedgersReachAsync(byDefault: 60);

        var (page, next) = await Gateway.PageAsync("");
        var (all, none) = await Gateway.PageAsync("limit=200");

        Assert.Equal(50, page.Count);
        Assert.NotNull(next);
        Assert.Equal(60, all.Count);
        Assert.Null(none);
        var times = all.ConvertAll(AcceptedAt);
        Assert.Equal(times.OrderDescending(), times);
        Assert.Equal(all.Take(50).Ids(), page.Ids());
        Assert.Equal(all.Skip(50).Ids(), (await Gateway.PageAsync($"after={next}")).Payments.Ids());
    }

    [PostgresFact]
    public async Task Bounds_are_inclusive_and_compared_with_the_acceptance()
    {
        for (var i = 0; i < 5; i++)
            await Gateway.PayAsync();
        var all = await Gateway.FollowAsync("");
        var (from, to) = (all[3].Text("acceptedAt"), all[1].Text("acceptedAt"));

        foreach (var query in new[] { $"from={from}&to={to}", $"from={from}&to={to}&limit=1" })
            Assert.Equal(all[1..4].Ids(), (await Gateway.FollowAsync(query)).Ids());
        Assert.Equal(all[..2].Ids(), (await Gateway.FollowAsync($"from={to}")).Ids());
        Assert.Equal(all[3..].Ids(), (await Gateway.FollowAsync($"to={from}")).Ids());
    }

    [PostgresTheory]
    [InlineData("from", "000Z", 1)]
    [InlineData("from", "001z", 0)]
    [InlineData("from", "0000001%2B00", 0)]
    [InlineData("to", "000Z", 1)]
    [InlineData("to", "999z", 1)]
    public async Task A_bound_between_two_microseconds_is_rounded_inwards(string name, string digits, int count)
    {
        var id = await Gateway.PayAsync();
        var at = (await Gateway.ShowAsync(id)).Text("acceptedAt")!.TrimEnd('Z');

        Assert.Equal(count, (await Gateway.FollowAsync($"{name}={at}{digits}")).Count);
    }

    [PostgresFact]
    public async Task A_processor_and_a_state_choose()
    {
        var owner = await Rig.StartGatewayAsync("Routing:FallbackAfter=0s");
        var byDefault = await owner.PayAsync();
        await Rig.LedgersReachAsync(byDefault: 1);
        await Rig.Default.SetFailureAsync(true);
        var byFallback = await owner.PayAsync();
        await Rig.LedgersReachAsync(byDefault: 1, byFallback: 1);
        await Rig.Fallback.SetFailureAsync(true);
        var waiting = await owner.PayAsync();

        async Task ChoosesAsync(string query, params Guid[] expected) =>
            Assert.Equal(expected, (await Gateway.FollowAsync(query)).Ids());

        await ChoosesAsync("", waiting, byFallback, byDefault);
        await ChoosesAsync("state=settled", byFallback, byDefault);
        await ChoosesAsync("state=settled&limit=1", byFallback, byDefault);
        await ChoosesAsync("processor=fallback", byFallback);
        await ChoosesAsync("processor=default&state=settled", byDefault);
        await ChoosesAsync("state=accepted", waiting);
        await ChoosesAsync("state=parked");
        await ChoosesAsync("state=in_doubt");
    }

    [PostgresTheory]
    [InlineData("limit=0", "limit")]
    [InlineData("limit=201", "limit")]
    [InlineData("limit=ten", "limit")]
    [InlineData("limit=+5", "limit")]
    [InlineData("limit=", "limit")]
    [InlineData("limit=1&limit=2", "limit")]
    [InlineData("state=open", "state")]
    [InlineData("state=Settled", "state")]
    [InlineData("state=settled&state=parked", "state")]
    [InlineData("processor=1", "processor")]
    [InlineData("processor=default&state=parked", "processor")]
    [InlineData("reason=a%00b", "reason")]
    [InlineData("from=yesterday", "from")]
    [InlineData("from=2025-02-30", "from")]
    [InlineData("from=2025-07-15T12:00:01Z&to=2025-07-15T12:00:00Z", "from")]
    [InlineData("to=", "to")]
    [InlineData("to=9999-12-31", "to")]
    [InlineData("after=", "after")]
    [InlineData("after=AAAA", "after")]
    [InlineData("after=f_______AAAAAAAAAAAAAAAAAAAAAAAA", "after")]
    [InlineData("stat=settled", "stat")]
    [InlineData("stat=settled&limit=0", "limit")]
    public Task A_wrong_parameter_is_named(string query, string field) =>
        AssertProblemAsync(Gateway.AskAsync($"payments?{query}"), HttpStatusCode.BadRequest, field);

    private static DateTime AcceptedAt(JsonElement payment) => DateTime.Parse(
        payment.Text("acceptedAt")!, CultureInfo.InvariantCulture, DateTimeStyles.RoundtripKind);

    private async Task<List<Guid>> PayUntilAsync(CancellationToken over)
    {
        var paid = new List<Guid>();
        while (!over.IsCancellationRequested)
            paid.Add(await Gateway.PayAsync());
        return paid;
    }
}
