using static PaymentGateway.Tests.Operator.Admin.PaymentViews;

namespace PaymentGateway.Tests.Operator.Admin;

/// <summary>What becomes of single payments, as another instance than theirs says it.</summary>
/// <remarks>The instance that is asked may take up what was replayed.</remarks>
public sealed class QueryEndpointsTests() : OneGateway("Settling:CallTimeout=2s", "Settling:InDoubtHorizon=2s")
{
    [PostgresFact]
    public async Task A_202_names_where_its_payment_is_and_has_no_body_and_a_409_names_nothing()
    {
        var owner = await Rig.StartGatewayAsync();
        var id = Guid.NewGuid();

        using var taken = await owner.PostPaymentAsync(id);
        using var again = await Gateway.PostPaymentAsync(id);

        foreach (var answer in new[] { taken, again })
        {
            Assert.Equal($"/payments/{id}", answer.Headers.Location?.OriginalString);
            Assert.Equal("", await answer.Content.ReadAsStringAsync());
        }

        using var shown = await Gateway.AskAsync(taken.Headers.Location!.OriginalString);
        Assert.Equal(HttpStatusCode.OK, shown.StatusCode);
        using var other = await Gateway.PostPaymentAsync(id, 20.00m);
        Assert.Equal((HttpStatusCode.Conflict, (Uri?)null), (other.StatusCode, other.Headers.Location));
    }

    [PostgresTheory]
    [InlineData("default")]
    [InlineData("fallback")]
    public async Task A_settled_payment_says_where_and_when(string processor)
    {
        await Rig.Default.SetFailureAsync(processor == "fallback");
        var owner = await Rig.StartGatewayAsync("Routing:FallbackAfter=0s");
        var id = await owner.PayAsync();

        var payment = await Gateway.BecomesAsync(id, "settled");

        Assert.Equal((id, "19.90", processor), (payment.Id(), payment.Text("amount"), payment.Text("processor")));
        var stored = await (processor == "default" ? Rig.Default : Rig.Fallback).PaymentsAsync();
        Assert.Equal(stored[id].RequestedAt.UtcDateTime, Time(payment, "requestedAt"));
        Assert.Equal(
            await Rig.Database.ScalarAsync<DateTime>("SELECT accepted_at FROM payments"), Time(payment, "acceptedAt"));
        Assert.Equal(
            ["correlationId", "amount", "state", "processor", "acceptedAt", "requestedAt", "attempts"],
            payment.EnumerateObject().Select(member => member.Name));
    }

    [PostgresFact]
    public async Task A_payment_that_waits_is_accepted_and_its_attempts_are_the_charges_that_were_sent()
    {
        await Rig.Default.SetFailureAsync(true);
        await Rig.Fallback.SetFailureAsync(true);
        var owner = await Rig.StartGatewayAsync("Routing:FallbackAfter=0s");
        var id = await owner.PayAsync();
        await Eventually.HoldsAsync(
            async () => await Rig.PostsAsync() is { Default: >= 2, Fallback: >= 1 }, "both have refused it");

        var payment = await Gateway.ShowAsync(id);

        Assert.Equal(
            ["correlationId", "amount", "state", "acceptedAt"],
            payment.EnumerateObject().Select(member => member.Name));
        Assert.Equal("accepted", payment.Text("state"));
        Assert.Equal([id], (await Gateway.FollowAsync("state=accepted")).Ids());
        await Rig.Default.SetFailureAsync(false);
        var settled = await Gateway.BecomesAsync(id, "settled");
        var (byDefault, byFallback) = await Rig.PostsAsync();
        Assert.Equal(byDefault + byFallback, settled.GetProperty("attempts").GetInt64());
    }

    [PostgresFact]
    public async Task A_parked_payment_says_why_and_a_replayed_one_is_as_any_other()
    {
        await Rig.Default.SetFaultsAsync(new { status = 400, times = 1 });
        var owner = await Rig.StartGatewayAsync("Settling:CallTimeout=2s", "Settling:InDoubtHorizon=2s");
        var id = await owner.PayAsync();

        var parked = await Gateway.BecomesAsync(id, "parked");

        Assert.Equal(("default answered 400", "1"), (parked.Text("parkedReason"), parked.Text("attempts")));
        Assert.True(Time(parked, "parkedAt") >= Time(parked, "acceptedAt"));
        Assert.Equal($"{parked}", $"{Assert.Single(await owner.FollowAsync("state=parked"))}");
        using var replayed = await owner.PostAsync($"admin/parked/{id}/replay");
        var settled = await Gateway.BecomesAsync(id, "settled");
        Assert.Null(settled.Text("parkedReason"));
        Assert.Null(settled.Text("parkedAt"));
        // Its first owner knew how often it was sent.
        Assert.Null(settled.Text("attempts"));
        Assert.Empty(await Gateway.FollowAsync("state=parked"));
    }

    [PostgresFact]
    public async Task A_payment_in_doubt_is_so_at_every_instance_until_it_is_settled()
    {
        await Rig.Default.SetFaultsAsync(new { beforeInsert = "hang" });
        var owner = await Rig.StartGatewayAsync("Settling:CallTimeout=1s");
        var id = await owner.PayAsync();
        await Rig.Default.HoldsAsync(1);

        var (here, there) = (await Gateway.BecomesAsync(id, "in_doubt"), await owner.BecomesAsync(id, "in_doubt"));

        Assert.Equal(here.ToString(), there.ToString());
        Assert.True(Time(here, "inDoubtAt") >= Time(here, "acceptedAt"));
        Assert.Equal([id], (await Gateway.FollowAsync("state=in_doubt")).Ids());
        Assert.Empty(await Gateway.FollowAsync("state=accepted"));
        await Rig.Default.ClearFaultsAsync();
        var settled = await Gateway.BecomesAsync(id, "settled");
        Assert.Null(settled.Text("inDoubtAt"));
        Assert.Empty(await Gateway.FollowAsync("state=in_doubt"));
        await Rig.AssertLedgersAgreeAsync();
    }

    [PostgresFact]
    public async Task A_payment_that_was_surely_not_charged_is_accepted_again()
    {
        await Rig.Default.SetFaultsAsync(new { beforeInsert = "hang" });
        await Rig.Fallback.SetFailureAsync(true);
        var owner = await Rig.StartGatewayAsync("Settling:CallTimeout=1s", "Settling:InDoubtHorizon=2s");
        var id = await owner.PayAsync();
        // It stays so until charges are refused: whatever repeats this one hangs too.
        await Gateway.BecomesAsync(id, "in_doubt");
        await Rig.Default.SetFailureAsync(true);

        // A word is for the doubts that an instance has read before it.
        await Eventually.HoldsAsync(
            async () =>
            {
                using var said = await Gateway.PostAsync("admin/processors/default/not-charged");
                return (await Gateway.FollowAsync("state=in_doubt")).Count == 0;
            },
            "the doubt ends");
        var payment = await Gateway.BecomesAsync(id, "accepted");

        Assert.Null(payment.Text("inDoubtAt"));
        Assert.Empty(await Gateway.FollowAsync("state=in_doubt"));
    }

    [PostgresFact]
    public async Task What_a_stopped_instance_left_in_doubt_stays_so_until_its_adopter_has_resolved_it()
    {
        await Rig.Default.SetFaultsAsync(new { beforeInsert = "hang" });
        var owner = await Rig.StartGatewayAsync("Settling:DrainTimeout=0s");
        var id = await owner.PayAsync();
        await Rig.Default.HoldsAsync(1);
        await Rig.Default.SetFailureAsync(true);

        await Rig.StopGatewayAsync(owner);

        await Gateway.BecomesAsync(id, "in_doubt");
        await Rig.Default.SetFailureAsync(false);
        await Rig.Default.ClearFaultsAsync();
        await Gateway.BecomesAsync(id, "settled");
        await Rig.AssertLedgersAgreeAsync();
    }

    [PostgresTheory]
    [InlineData("17")]
    [InlineData("4a7901b87d264d9daa194dc1c7cf60b3")]
    [InlineData("{4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3}")]
    [InlineData("4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b")]
    [InlineData("%20")]
    [InlineData("a%2Fb")]
    public Task A_malformed_id_is_named(string id) =>
        AssertProblemAsync(Gateway.AskAsync($"payments/{id}"), HttpStatusCode.BadRequest, "id");

    // Each of these calls is refused without the token: OperatorCallsTests.
    [PostgresTheory]
    [InlineData("Admin:LookUp=Token", HttpStatusCode.Unauthorized)]
    [InlineData("Admin:LookUp=Everyone", HttpStatusCode.OK)]
    public async Task A_payment_is_shown_to_a_token_that_reads_and_to_everybody_where_the_setting_says_so(
        string lookUp, HttpStatusCode withoutToken)
    {
        var guarded = await Rig.StartGatewayAsync("Admin:Tokens:payer:Token=secret", lookUp);
        var id = await guarded.PayAsync();

        foreach (var path in new[] { $"payments/{id}", "payments" })
        {
            using var answer = await guarded.AskAsync(path, ("X-Rinha-Token", "secret"));
            Assert.Contains($"{id}", await answer.Content.ReadAsStringAsync());
        }

        using var open = await guarded.AskAsync($"payments/{id}");
        Assert.Equal(withoutToken, open.StatusCode);
        await AssertProblemAsync(guarded.AskAsync("payments"), HttpStatusCode.Unauthorized, "X-Rinha-Token");
    }

    private static DateTime Time(JsonElement payment, string member)
    {
        var text = payment.Text(member)!;
        Assert.EndsWith("Z", text, StringComparison.Ordinal);
        return DateTime.Parse(text, CultureInfo.InvariantCulture, DateTimeStyles.RoundtripKind);
    }
}
