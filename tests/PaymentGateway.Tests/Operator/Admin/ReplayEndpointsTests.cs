using System.Net.Http.Headers;
using static PaymentGateway.Tests.Operator.Admin.PaymentViews;

namespace PaymentGateway.Tests.Operator.Admin;

public sealed class ReplayEndpointsTests() : OneGateway("Settling:CallTimeout=2s", "Settling:InDoubtHorizon=2s")
{
    private static readonly Regex Replay = new("""^\{"replayed":(\d+),"complete":(true|false)\}$""");

    private const string Refused = "default answered 400 Bad Request";
    private const string Other = "fallback answered 400 Bad Request";

    private static readonly TimeSpan ReplayWithin = TimeSpan.FromSeconds(2);

    [PostgresFact]
    public async Task All_of_one_reason_are_replayed_at_once_and_settled_and_then_the_rest()
    {
        await Rig.ParkAsync(1_200, Refused);
        await Rig.ParkAsync(5, Other);
        Assert.Equal(5, (await Gateway.FollowAsync($"reason={Uri.EscapeDataString(Other)}&limit=2")).Count);
        Assert.Empty(await Gateway.FollowAsync($"state=settled&reason={Uri.EscapeDataString(Other)}"));
        // A reason is a value and never a part of a statement.
        var injected = Uri.EscapeDataString("x' OR true; DROP TABLE payments; --");
        Assert.Empty(await Gateway.FollowAsync($"state=parked&reason={injected}"));
        await ReplaysAsync($"admin/parked/replay?reason={injected}", 0);

        await ReplaysAsync($"admin/parked/replay?reason={Uri.EscapeDataString(Refused)}", 1_200);
        await Rig.LedgersReachAsync(byDefault: 1_200);
        Assert.All(await ParkedAsync(5), payment => Assert.Equal(Other, payment.Text("parkedReason")));
        await ReplaysAsync("admin/parked/replay", 5);

        await Rig.LedgersReachAsync(byDefault: 1_205);
        await ParkedAsync(0);
        await ReplaysAsync("admin/parked/replay", 0);
        await Rig.AssertLedgersAgreeAsync();
    }

    [PostgresTheory]
    [InlineData("admin/parked/replay?resaon=a", "resaon")]
    [InlineData("admin/parked/replay?limit=5", "limit")]
    [InlineData("admin/parked/replay?reason=", "reason")]
    [InlineData("admin/parked/replay?reason=a&reason=b", "reason")]
    [InlineData("admin/parked/replay?reason=a%00b", "reason")]
    [InlineData("admin/parked/4a7901b87d264d9daa194dc1c7cf60b3/replay", "id")]
    public async Task A_replay_with_a_wrong_parameter_replays_nothing(string path, string field)
    {
        await Rig.ParkAsync(1, Refused);

        await AssertProblemAsync(Gateway.PostAsync(path), HttpStatusCode.BadRequest, field);
        await ParkedAsync(1);
    }

    [PostgresTheory]
    [InlineData("application/json", "{\"reason\":\"none has it\"}")]
    [InlineData("application/x-www-form-urlencoded", "reason=none+has+it")]
    public async Task Replay_with_a_body_is_refused_and_replays_nothing(string mediaType, string body)
    {
        await Rig.ParkAsync(1, Refused);
        using var content = new StringContent(body, new MediaTypeHeaderValue(mediaType));

        await AssertProblemAsync(
            Gateway.PostAsync("admin/parked/replay", content), HttpStatusCode.BadRequest, field: null);
        await ParkedAsync(1);
    }

    private async Task<List<JsonElement>> ParkedAsync(int payments)
    {
        var parked = await Gateway.FollowAsync("state=parked");
        Assert.Equal(payments, parked.Count);
        return parked;
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
            var replay = Replay.Match(text);
            Assert.True(replay.Success, text);
            replayed += int.Parse(replay.Groups[1].Value, CultureInfo.InvariantCulture);
            complete = replay.Groups[2].Value == "true";
            // Only where its time was over before the last page is it to be asked again.
            Assert.True(complete || waited.Elapsed >= ReplayWithin, $"{text} after {waited.Elapsed}");
        }

        Assert.Equal(payments, replayed);
    }
}
