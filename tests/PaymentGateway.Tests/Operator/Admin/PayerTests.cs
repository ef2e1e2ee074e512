namespace PaymentGateway.Tests.Operator.Admin;

public sealed class PayerTests() : OneGateway(
    $"Admin:Tokens:shop:Token={Shop}", "Admin:Tokens:shop:Role=Pay",
    $"Admin:Tokens:kiosk:Token={Kiosk}", "Admin:Tokens:kiosk:Role=Pay",
    $"Admin:Tokens:reader:Token={Reader}", $"Admin:Token={Boss}", "Admin:LookUp=Everyone")
{
    private const string Shop = "a token of the shop";
    private const string Kiosk = "a token of the kiosk";
    private const string Reader = "a token that reads";
    private const string Boss = "a token of every role";

    private readonly Guid _id = Guid.NewGuid();

    [PostgresTheory]
    [InlineData(null, HttpStatusCode.Unauthorized)]
    [InlineData("", HttpStatusCode.Unauthorized)]
    [InlineData("a token of the shoq", HttpStatusCode.Unauthorized)]
    [InlineData(Reader, HttpStatusCode.Forbidden)]
    [InlineData(Boss, HttpStatusCode.Forbidden)]
    [InlineData(Shop, HttpStatusCode.Accepted)]
    [InlineData(Kiosk, HttpStatusCode.Accepted)]
    public async Task A_payment_is_taken_with_a_payers_token_alone(string? token, HttpStatusCode expected)
    {
        using var answer = await PayAsync(_id, token);

        Assert.Equal(expected, answer.StatusCode);
        Assert.Equal(expected == HttpStatusCode.Accepted ? 1 : 0, await Rig.CountStoredAsync());
        if (expected == HttpStatusCode.Unauthorized)
            Assert.Equal("Bearer", answer.Headers.WwwAuthenticate.ToString());
    }

    [PostgresFact]
    public async Task A_token_that_is_longer_than_any_or_in_the_query_is_refused()
    {
        using var tooLong = await PayAsync(_id, new string('x', 9_000));
        using var inQuery = await Gateway.PostPaymentAsync(
            _id, 19.90m, $"payments?X-Rinha-Token={Shop}&token={Shop}&access_token={Shop}");

        Assert.Equal(
            (HttpStatusCode.Unauthorized, HttpStatusCode.Unauthorized), (tooLong.StatusCode, inQuery.StatusCode));
        Assert.Equal(0, await Rig.CountStoredAsync());
    }

    [PostgresFact]
    public async Task A_payer_is_refused_every_call_but_payments_and_health()
    {
        foreach (var path in new[]
        {
            "payments", "metrics", "events", "admin/actions", "admin/webhooks", "ops/payments", "ops/events",
            "reconciliation",
        })
            Assert.Contains(await StatusAsync(path, Shop), new[] { HttpStatusCode.Forbidden, HttpStatusCode.NotFound });
        foreach (var path in new[] { "purge-payments", "admin/parked/replay", $"admin/parked/{_id}/replay" })
        {
            using var refused = await Gateway.SendAsync(HttpMethod.Post, path, ("X-Rinha-Token", Shop));
            Assert.Equal(HttpStatusCode.Forbidden, refused.StatusCode);
        }

        using var browser = UnixHttp.To(Gateway.Socket, followsRedirects: false);
        using var signIn = await browser.PostAsync(
            "ops/sign-in", new FormUrlEncodedContent([new("token", Shop)]));
        Assert.False(signIn.Headers.Contains("Set-Cookie"));
        Assert.Equal(HttpStatusCode.OK, await Gateway.ReadyAsync());
        // A payer could fill the table.
        Assert.Equal(0, await Rig.Database.ScalarAsync<long>("SELECT count(*) FROM operator_actions"));
    }

    [PostgresFact]
    public async Task A_name_that_another_instance_registers_at_this_moment_gets_its_number()
    {
        var payer = new KnownPayer("other");
        await using var other = await Statements.HoldAsync(
            Rig.Database.ConnectionString, "INSERT INTO payers (id, name) VALUES (9, 'other')");
        var registered = Gateway.Part<PayerStore>().RegisterAsync(payer);
        await Eventually.HoldsAsync(
            async () => await Rig.Database.ScalarAsync<long>(
                "SELECT count(*) FROM pg_locks WHERE NOT granted") > 0,
            "the registration waits");
        await other.ExecuteAsync("COMMIT");
        await registered;

        Assert.Equal(9, payer.Number);
    }

    [PostgresTheory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task The_next_epoch_and_an_epoch_after_an_outage_give_the_payers_their_numbers_again(bool isNext)
    {
        // As a server that lost its tables, or a standby without their last rows, and where others came first.
        await Rig.Database.ExecuteAsync("UPDATE payers SET id = id + 100");
        var number = await NumberAsync("kiosk");
        const string NewestEpoch = "SELECT max(epoch) FROM leases";
        var epoch = await Rig.Database.ScalarAsync<int>(NewestEpoch);
        if (isNext)
            (await Gateway.SendAsync(HttpMethod.Post, "purge-payments", ("X-Rinha-Token", Boss))).Dispose();
        else
            await Rig.Database.ScalarAsync<long>("""
                SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """);

        await Eventually.HoldsAsync(
            async () =>
            {
                var id = Guid.NewGuid();
                using var answer = await PayAsync(id, Kiosk);
                if (isNext)
                    Assert.Equal(HttpStatusCode.Accepted, answer.StatusCode);
                return answer.StatusCode == HttpStatusCode.Accepted
                    && number == await Rig.Database.ScalarAsync<int>(
                        $"SELECT payer FROM payments WHERE correlation_id = '{id}'");
            },
            "a payment has the new number");
        Assert.Equal(isNext, await Rig.Database.ScalarAsync<int>(NewestEpoch) > epoch);
    }

    [PostgresFact]
    public async Task The_registration_of_payers_after_an_outage_holds_up_no_renewal()
    {
        const string Newest = "SELECT epoch * 1000000::bigint + renewal FROM leases ORDER BY epoch DESC LIMIT 1";
        await using var locked = await Statements.HoldAsync(Rig.Database.ConnectionString, "LOCK TABLE payers");
        await Rig.Database.ScalarAsync<long>($"""
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = current_database() AND pid NOT IN (pg_backend_pid(), {locked.ProcessID})
            """);
        await Eventually.HoldsAsync(
            async () => await Rig.Database.ScalarAsync<long>(
                "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'payers'::regclass") > 0,
            "the registration waits");
        var renewal = await Rig.Database.ScalarAsync<long>(Newest);

        await Eventually.HoldsAsync(
            async () => await Rig.Database.ScalarAsync<long>(Newest) >= renewal + 3, "the same epoch is renewed");
        Assert.InRange(await Rig.Database.ScalarAsync<long>(Newest), renewal, renewal + 1_000);
        // Throws where PostgreSQL has ended it as idle.
        await locked.ExecuteAsync("COMMIT");
    }

    [PostgresFact]
    public async Task A_payer_sees_its_own_payments_and_another_ones_as_if_there_were_none()
    {
        await TakenAsync(_id, Shop);

        Assert.Equal(HttpStatusCode.OK, await StatusAsync($"payments/{_id}", Shop));
        Assert.Equal(HttpStatusCode.OK, await StatusAsync($"payments/{_id}", Reader));
        Assert.Equal(HttpStatusCode.Unauthorized, await StatusAsync($"payments/{_id}", "wrong"));
        Assert.Equal(
            await LookUpAsync(Guid.NewGuid(), Kiosk), await LookUpAsync(_id, Kiosk));
        Assert.StartsWith("NotFound", await LookUpAsync(_id, Kiosk), StringComparison.Ordinal);
    }

    [PostgresTheory]
    [InlineData("19.90")]
    [InlineData("20.00")]
    public async Task The_id_of_another_payers_payment_is_409_and_tells_neither_whose_it_is_nor_its_amount(
        string amount)
    {
        await TakenAsync(_id, Shop);

        using var ownOther = await PayAsync(_id, Shop, 21m);
        using var foreign = await PayAsync(_id, Kiosk, decimal.Parse(amount, CultureInfo.InvariantCulture));
        await TakenAsync(_id, Shop);

        Assert.Equal((HttpStatusCode.Conflict, HttpStatusCode.Conflict), (ownOther.StatusCode, foreign.StatusCode));
        Assert.Equal(
            await ownOther.Content.ReadAsStringAsync(), await foreign.Content.ReadAsStringAsync());
        Assert.Equal(1, await Rig.CountStoredAsync());
        Assert.Equal(HttpStatusCode.NotFound, await StatusAsync($"payments/{_id}", Kiosk));
    }

    [PostgresFact]
    public async Task The_payer_stands_with_each_payment_of_a_batch_and_of_one_alone()
    {
        await TakenAsync(_id, Kiosk);
        await Task.WhenAll(Enumerable.Range(0, 60).Select(i => TakenAsync(Guid.NewGuid(), i % 2 == 0 ? Shop : Kiosk)));

        Assert.Equal("kiosk=31,shop=30", await Rig.Database.ScalarAsync<string>("""
            SELECT string_agg(name || '=' || paid, ',' ORDER BY name) FROM (
                SELECT payers.name, count(*) AS paid FROM payments JOIN payers ON payers.id = payer GROUP BY 1) AS one
            """));
    }

    [PostgresFact]
    public async Task A_payers_number_is_permanent_and_everybody_pays_where_no_token_pays()
    {
        await TakenAsync(_id, Shop);
        var first = await NumberAsync("shop");
        await Rig.StartGatewayAsync(
            "Admin:Tokens:another:Token=a token of another", "Admin:Tokens:another:Role=Pay",
            "Admin:Tokens:shop:Token=a new token of the shop", "Admin:Tokens:shop:Role=Pay");
        var open = await Rig.StartGatewayAsync($"Admin:Token={Boss}", "Admin:LookUp=Everyone");

        var anonymous = await open.PayAsync();

        Assert.Equal(first, await NumberAsync("shop"));
        Assert.NotEqual(first, await NumberAsync("another"));
        Assert.Equal(HttpStatusCode.OK, (await open.AskAsync($"payments/{_id}")).StatusCode);
        // A payment without a token belongs to nobody.
        Assert.Equal(HttpStatusCode.NotFound, await StatusAsync($"payments/{anonymous}", Shop));
        using var claimed = await PayAsync(anonymous, Shop);
        Assert.Equal(HttpStatusCode.Conflict, claimed.StatusCode);
    }

    [PostgresFact]
    public async Task An_operator_sees_the_payer_of_each_payment_and_lists_those_of_one()
    {
        var foreign = Guid.NewGuid();
        await TakenAsync(_id, Shop);
        await TakenAsync(foreign, Kiosk);
        await Rig.LedgersReachAsync(byDefault: 2);
        await Rig.Default.SetFailureAsync(true);
        await Rig.Fallback.SetFailureAsync(true);
        var waiting = Guid.NewGuid();
        await TakenAsync(waiting, Shop);

        await ListsAsync("", [$"{waiting} shop", $"{foreign} kiosk", $"{_id} shop"]);
        await ListsAsync("state=settled", [$"{foreign} kiosk", $"{_id} shop"]);
        await ListsAsync("payer=shop", [$"{waiting} shop", $"{_id} shop"]);
        await ListsAsync("payer=kiosk&processor=default", [$"{foreign} kiosk"]);
        Assert.Empty(await ListAsync("payer=Shop"));
        Assert.Equal(
            "kiosk", (await ReadAsync($"payments/{foreign}")).GetProperty("payer").GetString());
    }

    [PostgresFact]
    public async Task Events_webhooks_and_the_page_name_the_payer()
    {
        await TakenAsync(_id, Kiosk);
        using var refused = await PayAsync(_id, Shop);
        await Rig.LedgersReachAsync(byDefault: 1);

        JsonElement told = default;
        await Eventually.HoldsAsync(
            async () => (told = await ReadAsync("events")).GetProperty("events").GetArrayLength() == 1, "the event");
        var reading = Gateway.Part<InstanceReader>().Read();

        Assert.Equal("kiosk", told.GetProperty("events")[0].GetProperty("payer").GetString());
        Assert.Equal(
            [new PayerReading("kiosk", 1, 0), new PayerReading("shop", 0, 1)],
            reading.Payers!.OrderBy(payer => payer.Name));
        Assert.Equal("shop", refused.Headers.GetValues(KnownPayer.Header).Single());
    }

    private async Task ListsAsync(string query, string[] expected) =>
        Assert.Equal(expected, await ListAsync(query));

    private async Task<string[]> ListAsync(string query) =>
        [.. (await ReadAsync($"payments?{query}")).GetProperty("payments").EnumerateArray().Select(
            one => $"{one.GetProperty("correlationId")} {one.GetProperty("payer")}")];

    private async Task<JsonElement> ReadAsync(string path)
    {
        using var answer = await Gateway.AskAsync(path, ("X-Rinha-Token", Reader));
        return JsonDocument.Parse(await answer.Content.ReadAsStringAsync()).RootElement;
    }

    private Task<int> NumberAsync(string name) =>
        Rig.Database.ScalarAsync<int>($"SELECT id FROM payers WHERE name = '{name}'");

    private Task<HttpResponseMessage> PayAsync(Guid id, string? token, decimal amount = 19.90m) =>
        Gateway.PostPaymentAsync(id, amount, token: token);

    private async Task TakenAsync(Guid id, string token)
    {
        using var answer = await PayAsync(id, token);
        Assert.Equal(HttpStatusCode.Accepted, answer.StatusCode);
    }

    private async Task<HttpStatusCode> StatusAsync(string path, string token)
    {
        using var answer = await Gateway.AskAsync(path, ("X-Rinha-Token", token));
        return answer.StatusCode;
    }

    // Everything of the answer that a client could compare.
    private async Task<string> LookUpAsync(Guid id, string token)
    {
        using var answer = await Gateway.AskAsync($"payments/{id}", ("X-Rinha-Token", token));
        answer.Headers.Date = null;
        var body = await answer.Content.ReadAsStringAsync();
        return $"{answer.StatusCode} {answer.Headers} {answer.Content.Headers} {body}";
    }
}
