using System.Net.Http.Headers;

namespace PaymentGateway.Tests.Admin;

/// <summary>What an operator does with parked payments, over HTTP.</summary>
public sealed partial class ParkedEndpointsTests() : OneGateway("Settling:CallTimeout=2s", "Settling:InDoubtHorizon=2s")
{
    private const string Refused = "Default answered 400 Bad Request";
    private const string Other = "Fallback answered 400 Bad Request";

    private static readonly TimeSpan ReplayWithin = TimeSpan.FromSeconds(2);

    [PostgresFact]
    public async Task The_list_is_followed_by_its_links_to_the_end()
    {
        await ParkAsync(2_300, Refused);
        await ParkAsync(7, Other);

        var all = await FollowAsync("admin/parked");
        var few = await FollowAsync($"admin/parked?limit=3&reason={Uri.EscapeDataString(Other)}");

        Assert.Equal([1_000, 1_000, 307], all.Select(page => page.Count));
        Assert.Equal([3, 3, 1], few.Select(page => page.Count));
        Assert.Equal(2_307, all.SelectMany(page => page).Distinct().Count());
    }

    [PostgresFact]
    public async Task A_last_page_that_is_full_names_no_other()
    {
        await ParkAsync(3, Refused);

        Assert.Equal([3], (await FollowAsync("admin/parked?limit=3")).Select(page => page.Count));
        Assert.Equal([2, 1], (await FollowAsync("admin/parked?limit=2")).Select(page => page.Count));
    }

    [PostgresFact]
    public async Task All_of_one_reason_are_replayed_at_once_and_settled_and_then_the_rest()
    {
        await ParkAsync(1_200, Refused);
        await ParkAsync(5, Other);

        await ReplaysAsync($"admin/parked/replay?reason={Uri.EscapeDataString(Refused)}", 1_200);
        await Rig.LedgersReachAsync(byDefault: 1_200);
        Assert.Equal(5, (await FollowAsync("admin/parked")).Single().Count);
        await ReplaysAsync("admin/parked/replay", 5);

        await Rig.LedgersReachAsync(byDefault: 1_205);
        Assert.Equal("[]", await Gateway.GetAsync("admin/parked"));
        await ReplaysAsync("admin/parked/replay", 0);
        await Rig.AssertLedgersAgreeAsync();
    }

    [PostgresTheory]
    [InlineData("admin/parked?limit=0", "limit")]
    [InlineData("admin/parked?limit=1001", "limit")]
    [InlineData("admin/parked?limit=ten", "limit")]
    [InlineData("admin/parked?after=5", "after")]
    [InlineData("admin/parked?after=5.7", "after")]
    [InlineData("admin/parked?after=9999999999999999999.4a7901b87d264d9daa194dc1c7cf60b3", "after")]
    [InlineData("admin/parked?reason=", "reason")]
    [InlineData("admin/parked?reason=a&reason=b", "reason")]
    [InlineData("admin/parked?reason=a%00b", "reason")]
    [InlineData("admin/parked?resaon=a", "resaon")]
    public async Task A_wrong_parameter_is_named(string path, string field)
    {
        using var answer = await Gateway.AskAsync(path);

        await AssertNamesAsync(answer, field);
    }

    [PostgresFact]
    public async Task A_reason_is_a_value_and_never_a_part_of_a_statement()
    {
        const string Injected = "x' OR true; DROP TABLE payments; --";
        await ParkAsync(2, Refused);

        Assert.Empty((await FollowAsync($"admin/parked?reason={Uri.EscapeDataString(Injected)}")).Single());
        await ReplaysAsync($"admin/parked/replay?reason={Uri.EscapeDataString(Injected)}", 0);
        Assert.Equal(2, (await FollowAsync("admin/parked")).Single().Count);
    }

    [PostgresTheory]
    [InlineData("admin/parked/replay?resaon=a", "resaon")]
    [InlineData("admin/parked/replay?limit=5", "limit")]
    [InlineData("admin/parked/replay?reason=", "reason")]
    [InlineData("admin/parked/replay?reason=%00", "reason")]
    [InlineData("admin/parked/4a7901b87d264d9daa194dc1c7cf60b3/replay", "id")]
    public async Task A_replay_with_a_wrong_parameter_replays_nothing(string path, string field)
    {
        await ParkAsync(1, Refused);

        using var answer = await Gateway.PostAsync(path);

        await AssertNamesAsync(answer, field);
        Assert.Single((await FollowAsync("admin/parked")).Single());
    }

    [PostgresTheory]
    [InlineData("application/json", "{\"reason\":\"none has it\"}")]
    [InlineData("application/x-www-form-urlencoded", "reason=none+has+it")]
    public async Task Replay_with_a_body_is_refused_and_replays_nothing(string mediaType, string body)
    {
        await ParkAsync(1, Refused);
        using var content = new StringContent(body, new MediaTypeHeaderValue(mediaType));

        using var answer = await Gateway.PostAsync("admin/parked/replay", content);

        Assert.Equal(HttpStatusCode.BadRequest, answer.StatusCode);
        Assert.Contains(
            "urn:problem:payment-gateway:invalid-query", await answer.Content.ReadAsStringAsync(),
            StringComparison.Ordinal);
        Assert.Single((await FollowAsync("admin/parked")).Single());
    }

    [PostgresFact]
    public async Task Without_the_token_nothing_is_listed_or_replayed()
    {
        var guarded = await Rig.StartGatewayAsync("Admin:Token=secret");
        await ParkAsync(1, Refused);

        using var listed = await guarded.AskAsync("admin/parked");
        using var replayed = await guarded.PostAsync("admin/parked/replay");

        Assert.Equal(HttpStatusCode.Unauthorized, listed.StatusCode);
        Assert.Equal(HttpStatusCode.Unauthorized, replayed.StatusCode);
        Assert.Single((await FollowAsync("admin/parked")).Single());
    }

    private static async Task AssertNamesAsync(HttpResponseMessage answer, string field)
    {
        Assert.Equal(HttpStatusCode.BadRequest, answer.StatusCode);
        Assert.Equal("application/problem+json", answer.Content.Headers.ContentType?.MediaType);
        using var problem = JsonDocument.Parse(await answer.Content.ReadAsStringAsync());
        Assert.Equal(field, problem.RootElement.GetProperty("field").GetString());
    }

    private async Task ReplaysAsync(string path, int payments)
    {
        var (replayed, complete) = (0, false);
        while (!complete)
        {
            var waited = Stopwatch.StartNew();
            using var answer = await Gateway.PostAsync(path);
            Assert.Equal(HttpStatusCode.Accepted, answer.StatusCode);
            var text = await answer.Content.ReadAsStringAsync();
            var replay = Replay().Match(text);
            Assert.True(replay.Success, text);
            replayed += int.Parse(replay.Groups[1].Value, CultureInfo.InvariantCulture);
            complete = replay.Groups[2].Value == "true";
            // Only where its time was over before the last page is it to be asked again.
            Assert.True(complete || waited.Elapsed >= ReplayWithin, $"{text} after {waited.Elapsed}");
        }

        Assert.Equal(payments, replayed);
    }

    private async Task<List<List<Guid>>> FollowAsync(string path)
    {
        var pages = new List<List<Guid>>();
        for (string? next = path; next is not null;)
        {
            using var answer = await Gateway.AskAsync(next);
            answer.EnsureSuccessStatusCode();
            using var page = JsonDocument.Parse(await answer.Content.ReadAsStringAsync());
            pages.Add([.. page.RootElement.EnumerateArray().Select(row => row.GetProperty("correlationId").GetGuid())]);
            next = answer.Headers.TryGetValues("Link", out var links)
                ? NextLink().Match(links.Single()).Groups[1].Value
                : null;
        }

        return pages;
    }

    private Task ParkAsync(int payments, string reason) => Rig.Database.ExecuteAsync($"""
        INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch, parked_reason)
        SELECT gen_random_uuid(), 1990, clock_timestamp(), -1, '{reason}' FROM generate_series(1, {payments})
        """);

    [GeneratedRegex("""^\{"replayed":(\d+),"complete":(true|false)\}$""")]
    private static partial Regex Replay();

    [GeneratedRegex("^<(/admin/parked\\?[^>]+)>; rel=\"next\"$")]
    private static partial Regex NextLink();
}
