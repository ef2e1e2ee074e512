using PaymentGateway.Operator.Admin;

namespace PaymentGateway.Tests.Operator.Admin;

public sealed class TokenWatchTests : OwnRig
{
    private const string Key = "Gateway__Admin__Tokens__";
    private const string Old = "the old token of the shop";
    private const string New = "the new token of the shop";
    private const string Reader = "a token that reads";

    private readonly DirectoryInfo _secrets = Directory.CreateTempSubdirectory("gateway-secrets");
    private readonly GatheredLines _lines = new();
    private readonly SetClock _clock = new();

    private GatewayHost _gateway = null!;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        Write("shop__Role", "Pay");
        Write("shop__Token", Old);
        Write("reader__Token", Reader);
        _gateway = await Rig.StartGatewayAsync(_clock, $"Secrets:Directory={_secrets.FullName}");
        _gateway.Part<OperatorLog>().AddProvider(_lines.NewProvider());
    }

    public override async Task DisposeAsync()
    {
        await base.DisposeAsync();
        _secrets.Delete(recursive: true);
    }

    [PostgresFact]
    public async Task A_token_is_replaced_under_load_without_one_401_and_then_it_admits_nobody()
    {
        using var over = new CancellationTokenSource();
        var given = Old;
        var refused = 0;
        var paid = 0;
        var load = Enumerable.Range(0, 4).Select(async _ =>
        {
            while (!over.IsCancellationRequested)
                if (await PayAsync(given) == HttpStatusCode.Accepted)
                    Interlocked.Increment(ref paid);
                else
                    Interlocked.Increment(ref refused);
        }).ToList();

        Write("shop-2__Name", "shop");
        Write("shop-2__Role", "Pay");
        Write("shop-2__Token", New);
        await Eventually.HoldsAsync(async () => await PayAsync(New) == HttpStatusCode.Accepted, "the new one is read");
        Volatile.Write(ref given, New);
        Delete("shop__Token", "shop__Role");
        await Eventually.HoldsAsync(
            async () => await PayAsync(Old) == HttpStatusCode.Unauthorized, "the old one is gone");
        await over.CancelAsync();
        await Task.WhenAll(load);

        Assert.Equal(0, refused);
        Assert.InRange(paid, 10, int.MaxValue);
        Assert.Equal(1, await Rig.Database.ScalarAsync<long>("SELECT count(DISTINCT payer) FROM payments"));
        Assert.Equal(1, await Rig.Database.ScalarAsync<long>("SELECT count(*) FROM payers"));
    }

    [PostgresFact]
    public async Task A_wrong_file_leaves_the_tokens_in_force_and_is_logged_once()
    {
        Write("shop__Role", "Payer");
        await LoggedAsync(13);
        Write("shop__Token", New);
        await Task.Delay(TimeSpan.FromSeconds(5));

        Assert.Equal(HttpStatusCode.Accepted, await PayAsync(Old));
        Assert.Equal(HttpStatusCode.Unauthorized, await PayAsync(New));
        Assert.Equal(1, CountOf(13));
        Assert.Contains("Gateway__Admin__Tokens__shop__Role: 'Payer' is none of", Messages(), StringComparison.Ordinal);

        Write("shop__Role", "Pay");
        await LoggedAsync(12);
        await LoggedAsync(16);
        Assert.Equal(HttpStatusCode.Accepted, await PayAsync(New));
        Assert.DoesNotContain(Old, Messages(), StringComparison.Ordinal);
        Assert.DoesNotContain(New, Messages(), StringComparison.Ordinal);
    }

    [PostgresTheory]
    [InlineData("shop__Token")]
    [InlineData("shop__Role")]
    [InlineData("*")]
    public async Task Files_that_vanish_never_open_the_door(string files)
    {
        foreach (var file in _secrets.GetFiles(files == "*" ? files : Key + files))
            file.Delete();
        await LoggedAsync(13);

        Assert.Equal(HttpStatusCode.Accepted, await PayAsync(Old));
        Assert.Equal(HttpStatusCode.Unauthorized, await PayAsync(null));
    }

    [PostgresFact]
    public async Task Two_files_whose_names_differ_in_case_alone_change_nothing()
    {
        Write("shop__role", "Pay");
        await LoggedAsync(13);
        Assert.Equal(HttpStatusCode.Accepted, await PayAsync(Old));

        Delete("shop__role");
        Write("shop__Token", New);
        await LoggedAsync(12);
        Assert.Equal(HttpStatusCode.Accepted, await PayAsync(New));
    }

    [PostgresTheory]
    [InlineData(null)]
    [InlineData("")]
    [InlineData("Read")]
    public async Task A_payer_never_becomes_a_reader(string? role)
    {
        Write("kiosk__Role", "Pay");
        Write("kiosk__Token", New);
        await LoggedAsync(12);

        Delete("shop__Role");
        if (role is not null)
            Write("shop__Role", role);
        await LoggedAsync(13);

        Assert.Equal(HttpStatusCode.Forbidden, await ListAsync(Old));
        Assert.Equal(HttpStatusCode.Accepted, await PayAsync(Old));
    }

    [PostgresFact]
    public async Task A_token_whose_files_are_gone_admits_nobody_while_another_file_is_wrong()
    {
        Write("kiosk__Role", "Pay");
        Write("kiosk__Token", New);
        await LoggedAsync(12);
        Write("shop__Role", "Payer");
        await LoggedAsync(13);

        Delete("kiosk__Role", "kiosk__Token");

        await Eventually.HoldsAsync(
            async () => await PayAsync(New) == HttpStatusCode.Unauthorized, "the deleted one is gone");
        Assert.Equal(HttpStatusCode.Accepted, await PayAsync(Old));
    }

    [PostgresFact]
    public async Task The_last_payer_stays_and_an_operator_whose_files_are_gone_with_it_does_not()
    {
        Write("clerk__Role", "Read");
        Write("clerk__Token", New);
        await LoggedAsync(12);

        Delete("clerk__Role", "clerk__Token", "shop__Role", "shop__Token");

        await Eventually.HoldsAsync(
            async () => await ListAsync(New) == HttpStatusCode.Unauthorized, "the operator's is gone");
        Assert.Equal((HttpStatusCode.OK, HttpStatusCode.Accepted), (await ListAsync(Reader), await PayAsync(Old)));
    }

    [PostgresFact]
    public async Task A_token_whose_file_of_its_name_is_gone_pays_for_the_same_payer()
    {
        Write("shop-2__Name", "shop");
        Write("shop-2__Role", "Pay");
        Write("shop-2__Token", New);
        await LoggedAsync(12);

        Delete("shop-2__Name");
        await LoggedAsync(13);

        Assert.Equal(HttpStatusCode.Accepted, await PayAsync(New));
        Assert.Equal("shop", await Rig.Database.ScalarAsync<string>(
            "SELECT name FROM payments JOIN payers ON payers.id = payer"));
    }

    [PostgresFact]
    public async Task A_token_without_its_role_waits_for_it()
    {
        Write("kiosk__Token", New);
        await LoggedAsync(13);
        Assert.Equal(HttpStatusCode.Unauthorized, await ListAsync(New));
        Assert.Contains(
            "Gateway__Admin__Tokens__kiosk__Role: is required of a token", Messages(), StringComparison.Ordinal);

        Write("kiosk__Role", "Pay");
        await LoggedAsync(12);
        Assert.Equal(HttpStatusCode.Accepted, await PayAsync(New));
    }

    [PostgresFact]
    public async Task A_token_whose_file_of_its_end_is_gone_ends_all_the_same()
    {
        Write("shop__Until", $"{_clock.GetUtcNow().AddMinutes(30):yyyy-MM-dd'T'HH:mm:ss'Z'}");
        await LoggedAsync(12);
        Delete("shop__Until");
        await LoggedAsync(13);

        _clock.Ahead = TimeSpan.FromMinutes(31);

        Assert.Equal(HttpStatusCode.Unauthorized, await PayAsync(Old));
    }

    [PostgresFact]
    public async Task A_token_ends_at_its_time_and_the_log_names_its_payer()
    {
        Write("shop__Until", $"{_clock.GetUtcNow().AddMinutes(30):yyyy-MM-dd'T'HH:mm:ss'Z'}");
        await LoggedAsync(12);
        Assert.Equal(HttpStatusCode.Accepted, await PayAsync(Old));

        _clock.Ahead = TimeSpan.FromMinutes(31);

        Assert.Equal(HttpStatusCode.Unauthorized, await PayAsync(Old));
        Assert.Contains(
            "The expired token of shop from local for POST /payments", Messages(), StringComparison.Ordinal);
    }

    [PostgresFact]
    public async Task Of_256_tokens_the_last_one_pays_and_a_257th_is_refused()
    {
        for (var i = 2; i < AdminToken.Max; i++)
        {
            Write($"payer-{i}__Role", "Pay");
            Write($"payer-{i}__Token", $"the token of payer {i}");
        }

        await Eventually.HoldsAsync(
            async () => await PayAsync($"the token of payer {AdminToken.Max - 1}") == HttpStatusCode.Accepted,
            "the last one pays");
        Assert.Equal(HttpStatusCode.Unauthorized, await PayAsync("the token of payer 256"));
        Assert.Equal(255, await Rig.Database.ScalarAsync<long>("SELECT count(*) FROM payers"));

        Write("more__Role", "Metrics");
        Write("more__Token", "one token too many");
        await LoggedAsync(13);
        Assert.Contains("Gateway__Admin__Tokens: has more than 256 tokens", Messages(), StringComparison.Ordinal);
    }

    [PostgresTheory]
    [InlineData("reason={0}")]
    [InlineData("reason=Bearer {0}")]
    [InlineData("{0}")]
    [InlineData("{0}=1")]
    public async Task A_token_in_the_query_of_an_operators_call_is_not_recorded(string query)
    {
        using var replayed = await _gateway.SendAsync(
            HttpMethod.Post, "admin/parked/replay?" + string.Format(CultureInfo.InvariantCulture, query, Old),
            ("X-Rinha-Token", Reader));
        using var listed = await _gateway.AskAsync("admin/actions", ("X-Rinha-Token", Reader));

        Assert.Equal(HttpStatusCode.Forbidden, replayed.StatusCode);
        var actions = await listed.Content.ReadAsStringAsync();
        Assert.Contains("\"target\":\"?...\"", actions, StringComparison.Ordinal);
        Assert.DoesNotContain("shop", actions + Messages(), StringComparison.Ordinal);
    }

    private sealed class SetClock : TimeProvider
    {
        public TimeSpan Ahead { get; set; }

        // The files are read each 200 ms instead of 2 s.
        public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) =>
            base.CreateTimer(callback, state, dueTime == TimeSpan.FromSeconds(2) ? dueTime / 10 : dueTime, period);

        public override DateTimeOffset GetUtcNow() => base.GetUtcNow() + Ahead;
    }

    // As a program replaces a secret: nobody reads half of one.
    private void Write(string file, string text)
    {
        var written = Path.Combine(_secrets.FullName, "ignore." + file);
        File.WriteAllText(written, text + "\n");
        File.Move(written, Path.Combine(_secrets.FullName, Key + file), overwrite: true);
    }

    private void Delete(params string[] files)
    {
        foreach (var file in files)
            File.Delete(Path.Combine(_secrets.FullName, Key + file));
    }

    // A slow statement on a busy machine makes it 503, after which a client repeats.
    private async Task<HttpStatusCode> PayAsync(string? token)
    {
        var (id, status) = (Guid.NewGuid(), HttpStatusCode.ServiceUnavailable);
        await Eventually.HoldsAsync(
            async () =>
            {
                using var answer = await _gateway.PostPaymentAsync(id, token: token);
                return (status = answer.StatusCode) != HttpStatusCode.ServiceUnavailable;
            },
            "a payment is taken or refused");
        return status;
    }

    private async Task<HttpStatusCode> ListAsync(string token)
    {
        using var answer = await _gateway.AskAsync("payments", ("X-Rinha-Token", token));
        return answer.StatusCode;
    }

    private Task LoggedAsync(int id) => Eventually.HoldsAsync(
        () => Task.FromResult(CountOf(id) > 0), $"event {id} is logged");

    private int CountOf(int id) => _lines.Lines.Count(
        line => JsonDocument.Parse(line).RootElement.GetProperty("eventId").GetInt32() == id);

    private string Messages() => string.Join(
        '\n', _lines.Lines.Select(line => JsonDocument.Parse(line).RootElement.GetProperty("message").GetString()));
}
