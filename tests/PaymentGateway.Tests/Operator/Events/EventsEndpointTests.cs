using PaymentGateway.Operator.Events;

namespace PaymentGateway.Tests.Operator.Events;

/// <summary>GET /events as a reader sees it.</summary>
public sealed class EventsEndpointTests() : OneGateway("Settling:CallTimeout=2s", "Settling:InDoubtHorizon=2s")
{
    [PostgresFact]
    public async Task A_reader_who_waits_gets_a_payment_as_soon_as_it_is_settled()
    {
        var asked = PageAsync("wait=30");
        var id = await Gateway.PayAsync();

        var (events, next) = await asked;

        var settled = Assert.Single(events);
        Assert.Equal(
            [
                "id", "position", "type", "occurredAt", "correlationId", "amount", "processor", "acceptedAt",
                "requestedAt",
            ],
            settled.EnumerateObject().Select(member => member.Name));
        Assert.Equal(
            ("payment.settled", id, "19.90", "default"),
            (settled.Text("type"), settled.Id(), settled.Text("amount"), settled.Text("processor")));
        Assert.Empty((await PageAsync($"after={next}")).Events);
        Assert.Empty((await PageAsync($"after={settled.Text("position")}&wait=1")).Events);
        Assert.Equal($"{settled}", $"{Assert.Single((await PageAsync("")).Events)}");
    }

    [PostgresFact]
    public async Task A_parked_payment_that_is_replayed_is_told_from_its_parking_to_its_settlement()
    {
        await Rig.Default.SetFaultsAsync(new { status = 400, times = 1 });
        var id = await Gateway.PayAsync();
        var (events, next) = await PageAsync("wait=30");
        Assert.Equal(
            ("payment.parked", id, "default answered 400"),
            (events[0].Text("type"), events[0].Id(), events[0].Text("parkedReason")));

        using var replayed = await Gateway.PostAsync($"admin/parked/{id}/replay");

        var types = new List<string?>();
        while (types.Count < 2)
        {
            (events, next) = await PageAsync($"after={next}&wait=30&limit=1");
            types.AddRange(events.Select(one => one.Text("type")));
        }

        Assert.Equal(["payment.replayed", "payment.settled"], types);
    }

    [PostgresFact]
    public async Task A_wait_ends_at_its_time_and_at_a_stop()
    {
        var (_, next) = await PageAsync("");
        var began = Stopwatch.StartNew();
        Assert.Empty((await PageAsync($"after={next}&wait=1")).Events);
        Assert.InRange(began.Elapsed, TimeSpan.FromSeconds(1), TimeSpan.FromSeconds(20));

        using var client = UnixHttp.To(Gateway.Socket);
        var asked = client.GetStringAsync($"events?after={next}&wait=30");
        await Task.WhenAny(asked, Task.Delay(TimeSpan.FromSeconds(1)));
        Assert.False(asked.IsCompleted);
        began.Restart();
        await Rig.StopGatewayAsync(Gateway);

        Assert.Contains("\"events\":[]", await asked, StringComparison.Ordinal);
        Assert.True(began.Elapsed < TimeSpan.FromSeconds(20));
    }

    [PostgresTheory]
    [InlineData("after=", "after", 400)]
    [InlineData("after=1", "after", 400)]
    [InlineData("after=1-0-17-4A7901B8", "after", 400)]
    [InlineData("after=2-0-17-4a7901b87d264d9daa194dc1c7cf60b3", "after", 410)]
    [InlineData("after=1-1-17-4a7901b87d264d9daa194dc1c7cf60b3", "after", 410)]
    [InlineData("wait=31", "wait", 400)]
    [InlineData("wait=1s", "wait", 400)]
    [InlineData("limit=201", "limit", 400)]
    [InlineData("from=2025-07-15", "from", 400)]
    public Task A_wrong_question_is_a_problem_that_names_its_parameter(string query, string field, int status) =>
        PaymentViews.AssertProblemAsync(Gateway.AskAsync($"events?{query}"), (HttpStatusCode)status, field);

    [PostgresFact]
    public async Task One_reader_too_many_is_refused_and_has_a_place_when_another_goes()
    {
        using var client = UnixHttp.To(Gateway.Socket);
        using var gone = new CancellationTokenSource();
        var waiting = Enumerable.Range(0, 17).Select(_ => client.GetAsync("events?wait=30", gone.Token)).ToList();

        using var refused = await await Task.WhenAny(waiting);
        Assert.Equal(HttpStatusCode.ServiceUnavailable, refused.StatusCode);

        await gone.CancelAsync();
        await Eventually.HoldsAsync(
            async () =>
            {
                using var answer = await Gateway.AskAsync("events");
                return answer.IsSuccessStatusCode;
            },
            "there are places again");
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => Task.WhenAll(waiting));
    }

    private async Task<(List<JsonElement> Events, string Next)> PageAsync(string query)
    {
        using var page = JsonDocument.Parse(await Gateway.GetAsync($"{EventsEndpoint.Path}?{query}"));
        var root = page.RootElement.Clone();
        return ([.. root.GetProperty("events").EnumerateArray()], root.GetProperty("next").GetString()!);
    }
}
