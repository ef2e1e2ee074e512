using Microsoft.AspNetCore.Routing;
using PaymentGateway.Operator.Admin;

namespace PaymentGateway.Tests.Operator.Admin;

public sealed class OperatorCallsTests() : OneGateway(
    "Instance:Name=api7", $"Admin:Tokens:reader:Token={Reader}", $"Admin:Tokens:clerk:Token={Clerk}",
    "Admin:Tokens:clerk:Role=Operate", $"Admin:Tokens:boss:Token={Boss}", "Admin:Tokens:boss:Role=Purge")
{
    private const string Reader = "a token that reads";
    private const string Clerk = "a token that operates";
    private const string Boss = "a token that purges";
    private const string Id = "4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3";

    private static readonly string[] Columns = ["instance", "actor", "action", "target", "outcome", "address"];

    // Everybody's calls, and the page with its form.
    private static readonly string[] Open =
    [
        "GET ", "POST /payments", "GET /payments-summary", "GET /healthz", "GET /readyz", "GET /openapi.json",
        "GET /docs", "GET /ops", "GET /ops/sign-in", "POST /ops/sign-in", "POST /ops/sign-out",
    ];

    [PostgresFact]
    public async Task Every_other_call_needs_a_token_and_each_that_changes_something_a_role_and_a_record()
    {
        var expected = new List<string>();
        foreach (var call in Calls())
        {
            Assert.Equal((call, HttpStatusCode.Unauthorized), (call, await StatusAsync(call, "wrong")));
            if (call.StartsWith("GET", StringComparison.Ordinal))
                continue;

            Assert.Equal((call, HttpStatusCode.Forbidden), (call, await StatusAsync(call, Reader)));
            expected.Add($"{call} reader 403");
            expected.Add($"{call} boss {(int)await StatusAsync(call, Boss)}");
        }

        Assert.Contains("POST /purge-payments boss 200", expected);
        Assert.Contains("POST /admin/parked/replay boss 202", expected);
        Assert.Equal(expected.Order(), (await ActionsAsync()).Select(
            action => $"{Text(action, "action")} {Text(action, "actor")} {Text(action, "outcome").Split(' ')[0]}")
            .Order());
    }

    [PostgresTheory]
    [InlineData("Origin", "http://evil.example")]
    [InlineData("Origin", "null")]
    [InlineData("Sec-Fetch-Site", "cross-site")]
    public async Task Posts_by_a_page_of_another_host_are_refused(string header, string value)
    {
        foreach (var call in AllCalls().Where(call => call.StartsWith("POST", StringComparison.Ordinal)))
            if (call != "POST /payments")
                Assert.Equal((call, HttpStatusCode.Forbidden), (call, await StatusAsync(call, Boss, (header, value))));

        Assert.Empty(await ActionsAsync());
        Assert.Equal(HttpStatusCode.OK, await StatusAsync("GET /metrics", Reader, (header, value)));
    }

    [PostgresFact]
    public async Task A_record_says_when_who_did_what_where_with_which_outcome_and_from_which_address()
    {
        using var replayed = await SendAsync(
            "POST", $"admin/parked/{Id}/replay?why=%20", Clerk, ("X-Real-IP", "203.0.113.7"));
        using var all = await SendAsync("POST", "admin/parked/replay?reason=none", Clerk, ("X-Real-IP", "nonsense"));
        using var webhook = await SendAsync("POST", "admin/webhooks/shop/test", Clerk);
        var purged = await StatusAsync("POST /purge-payments", Boss);

        Assert.Equal(
            (HttpStatusCode.NotFound, HttpStatusCode.Accepted, HttpStatusCode.OK),
            (replayed.StatusCode, all.StatusCode, purged));
        var actions = await ActionsAsync();
        Assert.Equal(
            [
                "api7 boss POST /purge-payments  200 local",
                "api7 clerk POST /admin/webhooks/{name}/test shop 404 local",
                "api7 clerk POST /admin/parked/replay ?reason=none 202 0 replayed local",
                $"api7 clerk POST /admin/parked/{{id}}/replay {Id}?why=%20 404 203.0.113.7",
            ],
            actions.Select(action => string.Join(' ', Columns.Select(column => Text(action, column)))));
        Assert.All(
            actions, action => Assert.InRange(
                action.GetProperty("at").GetDateTime(), DateTime.UtcNow.AddMinutes(-1), DateTime.UtcNow.AddMinutes(1)));
    }

    [PostgresFact]
    public async Task The_list_is_read_in_pages_and_a_wrong_parameter_is_refused()
    {
        for (var i = 0; i < 3; i++)
            await StatusAsync("POST /purge-payments", i == 1 ? Boss : Clerk);

        var first = await PageAsync("?limit=2");
        var second = await PageAsync($"?limit=2&after={Text(first, "next")}");

        Assert.Equal(
            ["clerk", "boss"], first.GetProperty("actions").EnumerateArray().Select(one => Text(one, "actor")));
        Assert.Single(second.GetProperty("actions").EnumerateArray());
        Assert.Equal(JsonValueKind.Null, second.GetProperty("next").ValueKind);
        foreach (var wrong in new[] { "limit=0", "limit=201", "limit=1&limit=1", "after=0", "after=x", "all=1" })
        {
            using var answer = await SendAsync("GET", $"admin/actions?{wrong}", Reader);
            Assert.Equal((wrong, HttpStatusCode.BadRequest), (wrong, answer.StatusCode));
        }
    }

    [PostgresFact]
    public async Task The_role_of_a_purge_is_not_that_of_a_replay()
    {
        await Gateway.PayAsync();

        using var refused = await SendAsync("POST", "purge-payments", Clerk);

        Assert.Equal(HttpStatusCode.Forbidden, refused.StatusCode);
        Assert.Contains(
            "This call needs the role Purge, and clerk has Operate.", await refused.Content.ReadAsStringAsync(),
            StringComparison.Ordinal);
        Assert.Equal(1, await Rig.CountStoredAsync());
    }

    [PostgresFact]
    public async Task A_session_has_the_role_and_the_name_of_the_token_that_began_it()
    {
        using var client = UnixHttp.To(Gateway.Socket, followsRedirects: false);
        using var wrong = await client.PostAsync("ops/sign-in", new FormUrlEncodedContent([new("token", "wrong")]));
        using var signedIn = await client.PostAsync("ops/sign-in", new FormUrlEncodedContent([new("token", Reader)]));
        var cookie = Assert.Single(signedIn.Headers.GetValues("Set-Cookie")).Split(';')[0];

        using var listed = await Gateway.AskAsync("ops/payments", ("Cookie", cookie));
        using var replayed = await Gateway.SendAsync(
            HttpMethod.Post, "ops/parked/replay", ("Cookie", cookie), ("Sec-Fetch-Site", "same-origin"));

        Assert.Equal((HttpStatusCode.OK, HttpStatusCode.Forbidden), (listed.StatusCode, replayed.StatusCode));
        Assert.Equal(
            ["POST /ops/parked/replay reader 403", "POST /ops/sign-in reader 303"],
            (await ActionsAsync()).Select(
                action => $"{Text(action, "action")} {Text(action, "actor")} {Text(action, "outcome")}"));
    }

    // The rig silences every other category.
    [PostgresFact]
    public async Task Actions_and_wrong_tokens_are_logged_whatever_the_levels_are_and_no_line_has_a_token()
    {
        var lines = Gather();

        await StatusAsync("POST /purge-payments", Boss);
        await StatusAsync("GET /metrics", "hunter2");
        await StatusAsync("GET /metrics", "hunter2");

        Assert.Equal(
            [
                "7 POST /purge-payments by boss from local: 200; target: ",
                "8 A wrong token from local for GET /metrics",
            ],
            Read(lines).Select(line => $"{line.GetProperty("eventId")} {Text(line, "message")}"));
        Assert.All(Read(lines), line => Assert.Equal("PaymentGateway.Audit", Text(line, "category")));
        Assert.All(lines.Lines, line => Assert.DoesNotContain(Boss, line, StringComparison.Ordinal));
        Assert.All(lines.Lines, line => Assert.DoesNotContain("hunter2", line, StringComparison.Ordinal));
    }

    [PostgresFact]
    public async Task Too_many_wrong_tokens_from_an_address_end_in_429_there_and_right_ones_pass()
    {
        var lines = Gather();
        (string, string) here = ("X-Real-IP", "203.0.113.7");
        for (var i = 1; i <= WrongTokens.Max; i++)
        {
            using var wrong = await SendAsync("GET", "metrics", $"guess {i}", here);
            Assert.Equal(i < WrongTokens.Max ? 401 : 429, (int)wrong.StatusCode);
        }

        using var paused = await SendAsync("GET", "metrics", "guess 1", here);
        using var right = await SendAsync("GET", "metrics", Reader, here);
        using var other = await SendAsync("GET", "metrics", "guess 1", ("X-Real-IP", "203.0.113.8"));

        Assert.Equal(
            [HttpStatusCode.TooManyRequests, HttpStatusCode.OK, HttpStatusCode.Unauthorized],
            new[] { paused, right, other }.Select(answer => answer.StatusCode));
        Assert.InRange(paused.Headers.RetryAfter!.Delta!.Value, TimeSpan.FromSeconds(1), TimeSpan.FromMinutes(1));
        Assert.Equal(
            [
                "8 A wrong token from 203.0.113.7 for GET /metrics",
                $"9 {WrongTokens.Max} wrong tokens from 203.0.113.7 within a minute: until it is over, wrong ones from "
                    + "there get 429",
                "8 A wrong token from 203.0.113.8 for GET /metrics",
            ],
            Read(lines).Select(line => $"{line.GetProperty("eventId")} {Text(line, "message")}"));
    }

    [PostgresFact]
    public async Task An_action_that_cannot_be_stored_is_done_and_logged()
    {
        var lines = Gather();
        await Rig.Database.ExecuteAsync("ALTER TABLE operator_actions RENAME TO lost");

        Assert.Equal(HttpStatusCode.OK, await StatusAsync("POST /purge-payments", Boss));

        Assert.Equal([7, 10], Read(lines).Select(line => line.GetProperty("eventId").GetInt32()));
    }

    [PostgresFact]
    public async Task A_call_that_breaks_off_is_recorded_too()
    {
        using var over = new CancellationTokenSource();
        await using (await Rig.Database.HoldAsync("LOCK TABLE payments IN ACCESS SHARE MODE"))
        {
            using var client = UnixHttp.To(Gateway.Socket);
            client.DefaultRequestHeaders.Add("X-Rinha-Token", Boss);
            var purge = client.PostAsync("purge-payments", null, over.Token);
            await Eventually.HoldsAsync(
                () => Rig.Database.ScalarAsync<bool>("""
                    SELECT count(*) > 0 FROM pg_locks JOIN pg_database ON pg_database.oid = database
                    WHERE mode = 'AccessExclusiveLock' AND NOT granted AND datname = current_database()
                    """),
                "the purge waits for its locks");

            await over.CancelAsync();
            await Assert.ThrowsAnyAsync<OperationCanceledException>(() => purge);
            await Eventually.HoldsAsync(
                async () => (await ActionsAsync()).Count == 1, "it is recorded");
        }

        Assert.Equal("failed: OperationCanceledException", Text((await ActionsAsync()).Single(), "outcome"));
    }

    private IEnumerable<string> Calls() => AllCalls().Except(Open);

    private List<string> AllCalls() => Gateway.Part<EndpointDataSource>().Endpoints.OfType<RouteEndpoint>()
        .Where(endpoint => Path.GetExtension(endpoint.RoutePattern.RawText) is "" or null)
        .SelectMany(endpoint => endpoint.Metadata.GetMetadata<HttpMethodMetadata>()!.HttpMethods
            .Where(method => method != "HEAD")
            .Select(method => $"{method} {endpoint.RoutePattern.RawText!.TrimEnd('/')}"))
        .ToList();

    private GatheredLines Gather()
    {
        var lines = new GatheredLines();
        Gateway.Part<OperatorLog>().AddProvider(lines.NewProvider());
        return lines;
    }

    private static List<JsonElement> Read(GatheredLines lines) =>
        lines.Lines.Select(line => JsonDocument.Parse(line).RootElement).ToList();

    private async Task<HttpStatusCode> StatusAsync(
        string call, string token, params (string Name, string Value)[] headers)
    {
        var (method, path) = (call.Split(' ')[0], call.Split(' ')[1].Replace("{id}", Id, StringComparison.Ordinal));
        using var answer = await SendAsync(method, path, token, headers);
        return answer.StatusCode;
    }

    private Task<HttpResponseMessage> SendAsync(
        string method, string path, string token, params (string Name, string Value)[] headers) =>
        Gateway.SendAsync(new HttpMethod(method), path, [("X-Rinha-Token", token), .. headers]);

    private async Task<List<JsonElement>> ActionsAsync() =>
        (await PageAsync("?limit=200")).GetProperty("actions").EnumerateArray().ToList();

    private async Task<JsonElement> PageAsync(string query)
    {
        using var answer = await SendAsync("GET", $"admin/actions{query}", Reader);
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        return JsonDocument.Parse(await answer.Content.ReadAsStringAsync()).RootElement;
    }

    private static string Text(JsonElement of, string member) => of.GetProperty(member).GetString()!;
}
