using PaymentGateway.Operator.Events;
using PaymentGateway.Operator.Webhooks;
using PaymentGateway.Tests.Cli;

namespace PaymentGateway.Tests.Operator.Webhooks;

/// <summary>Endpoints get every event, in order and signed, whatever they answer.</summary>
public sealed class WebhookWorkerTests : OwnRig
{
    private const string Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    private const string Next = "whsec_dGhlIG5leHQgc2VjcmV0IG9mIGEgc2hvcA==";
    private const string Well = "/well";
    private const string Bad = "/bad";

    private static readonly string[] Names = ["well", "bad"];

    private WebhookReceiver _receiver = null!;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        _receiver = await WebhookReceiver.StartAsync();
    }

    public override async Task DisposeAsync()
    {
        await base.DisposeAsync();
        await _receiver.DisposeAsync();
    }

    [PostgresFact]
    public async Task Events_of_the_wanted_types_are_delivered_in_order_with_a_signature_that_holds()
    {
        var gateway = await StartAsync(
            "Webhooks:well:Events=payment.parked,payment.settled", $"Webhooks:well:Secret={Secret} {Next}");
        await Rig.Default.SetFaultsAsync(new { status = 400, times = 1 });
        var id = await gateway.PayAsync();
        await ReceivedAsync(Well, 1);
        using var replayed = await gateway.PostAsync($"admin/parked/{id}/replay");
        await ReceivedAsync(Well, 2);

        var calls = _receiver.CallsOf(Well);
        Assert.Equal(["payment.parked", "payment.settled"], calls.Select(call => call.Event.Text("type")));
        Assert.All(calls, call =>
        {
            Assert.Equal((id, call.Id), (call.Event.Id(), call.Event.Text("id")));
            Assert.Matches(@"^PaymentGateway/\d+\.\d+\.\d+$", _receiver.UserAgent);
            Assert.True(WebhookSnippet.Verify(Secret, call.Id, call.Timestamp, call.Signature, call.Body));
            Assert.True(WebhookSnippet.Verify(Next, call.Id, call.Timestamp, call.Signature, call.Body));
            Assert.False(WebhookSnippet.Verify(Secret, call.Id, call.Timestamp, call.Signature, [.. call.Body, 32]));
        });
    }

    // Another endpoint is not delayed by it, and what it repeats has the id of before.
    [PostgresFact]
    public async Task An_endpoint_that_fails_gets_every_event_later_and_delays_no_other()
    {
        foreach (var fault in new[] { 500, WebhookReceiver.Silence, 302, 404 })
            _receiver.FaultsOf(Bad).Enqueue(fault);
        var gateway = await StartAsync();
        var paid = new List<Guid>();
        for (var at = 0; at < 5; at++)
            paid.Add(await gateway.PayAsync());

        await ReceivedAsync(Well, 5);
        Assert.DoesNotContain(_receiver.CallsOf(Bad), call => call.Status == 200);
        await FailuresAsync(gateway, count => count > 0);
        await ReceivedAsync(Bad, 5);

        var calls = _receiver.CallsOf(Bad);
        var taken = calls.Where(call => call.Status == 200).ToList();
        Assert.Equal(_receiver.CallsOf(Well).Select(call => call.Id), taken.Select(call => call.Id));
        Assert.Equal(paid.Order(), taken.Select(call => call.Event.Id()).Order());
        Assert.All(calls.Where(call => call.Status != 200), call => Assert.Equal(taken[0].Id, call.Id));
        Assert.Empty(_receiver.CallsOf("/elsewhere"));
        await FailuresAsync(gateway, count => count == 0);
    }

    [PostgresFact]
    public async Task Of_two_instances_one_delivers_and_the_other_goes_on_when_it_stops()
    {
        var first = await StartAsync();
        var second = await StartAsync();
        for (var at = 0; at < 10; at++)
            await (at % 2 == 0 ? first : second).PayAsync();
        await ReceivedAsync(Well, 10);
        Assert.Equal(10, _receiver.CallsOf(Well).Count);

        await Rig.StopGatewayAsync(first);
        for (var at = 0; at < 5; at++)
            await second.PayAsync();
        await ReceivedAsync(Well, 15);

        Assert.Equal(15, _receiver.CallsOf(Well).Select(call => call.Id).Distinct().Count());
    }

    // .NET shows the peer's bytes in its message, and PostgreSQL stores no text with a zero.
    [PostgresFact]
    public async Task An_endpoint_that_answers_binary_fails_and_its_failure_is_short_and_visible()
    {
        using var binary = new TcpListener(IPAddress.Loopback, 0);
        binary.Start();
        var answering = AnswerAsync();
        var gateway = await StartAsync($"Webhooks:bad:Url=http://{binary.LocalEndpoint}/");

        await gateway.PayAsync();

        await FailuresAsync(gateway, count => count > 0);
        var failure = JsonDocument.Parse(await gateway.GetAsync("admin/webhooks")).RootElement
            .GetProperty("webhooks")[0].Text("failure")!;
        Assert.InRange(failure.Length, 20, 200);
        Assert.DoesNotContain(failure, char.IsControl);
        binary.Stop();
        await Assert.ThrowsAnyAsync<Exception>(() => answering);

        async Task AnswerAsync()
        {
            while (true)
            {
                using var peer = await binary.AcceptSocketAsync();
                await peer.ReceiveAsync(new byte[4096]);
                await peer.SendAsync(Encoding.ASCII.GetBytes($"\0\0\u0012\u001b]0;x\a{new string('y', 900)}\r\n\r\n"));
            }
        }
    }

    // As after PostgreSQL's clock jumped back by two hours.
    [PostgresFact]
    public async Task An_endpoint_whose_holder_died_before_the_clock_jumped_back_is_taken()
    {
        await Rig.StopGatewayAsync(await StartAsync());
        await Rig.Database.ExecuteAsync(
            "UPDATE webhooks SET holder = 'gone', due_at = now() + interval '30 minutes' WHERE name = 'well'");

        await (await StartAsync()).PayAsync();

        await ReceivedAsync(Well, 1);
    }

    [PostgresFact]
    public async Task An_endpoint_that_asks_for_a_pause_gets_it()
    {
        _receiver.RetryAfter = "300";
        _receiver.FaultsOf(Well).Enqueue(429);
        var gateway = await StartAsync();
        await gateway.PayAsync();
        await Eventually.HoldsAsync(
            async () => await Rig.Database.ScalarAsync<long>(
                "SELECT count(*) FROM webhooks WHERE failures = 1 AND name = 'well'") == 1, "it fails");

        Assert.True(await Rig.Database.ScalarAsync<bool>(
            "SELECT due_at > now() + interval '4 minutes' FROM webhooks WHERE name = 'well'"));
    }

    [PostgresFact]
    public async Task A_new_endpoint_whose_instance_stops_before_its_first_event_gets_what_follows()
    {
        await Rig.StopGatewayAsync(await StartAsync());
        var other = await Rig.StartGatewayAsync();
        var id = await other.PayAsync();
        await Rig.LedgersReachAsync(1);

        await StartAsync();
        await ReceivedAsync(Well, 1);

        Assert.Equal(id, _receiver.CallsOf(Well)[0].Event.Id());
    }

    // A failure stores that there is no position yet in the second ledger; the third one deletes even that.
    [PostgresFact]
    public async Task An_endpoint_whose_position_is_deleted_twice_in_a_row_gets_the_events_of_the_last_ledger()
    {
        var gateway = await StartAsync();
        await gateway.PayAsync();
        await ReceivedAsync(Well, 1);
        var id = Guid.Empty;
        for (var ledger = 2; ledger <= 3; ledger++)
        {
            _receiver.FaultsOf(Well).Enqueue(500);
            using var purged = await gateway.PostAsync("purge-payments");
            purged.EnsureSuccessStatusCode();
            id = await gateway.PayAsync();
            await Eventually.HoldsAsync(
                () => _receiver.CallsOf(Well).Exists(call => call.Event.Id() == id), "it was refused");
        }

        await Eventually.HoldsAsync(
            () => _receiver.CallsOf(Well).Exists(call => call.Event.Id() == id && call.Status == 200), "it is taken");
        Assert.StartsWith("3-", _receiver.CallsOf(Well)[^1].Event.Text("position"), StringComparison.Ordinal);
    }

    [PostgresFact]
    public async Task The_verbs_show_test_and_replay_an_endpoint()
    {
        var gateway = await StartAsync();
        await gateway.PayAsync();
        await gateway.PayAsync();
        await ReceivedAsync(Well, 2);

        Assert.Equal(0, (await RunAsync("test", "well")).ExitCode);
        foreach (var (fault, failure) in
            new[] { (500, "status 500"), (WebhookReceiver.Silence, "no answer within 2 s") })
        {
            _receiver.FaultsOf(Well).Enqueue(fault);
            var refused = await RunAsync("test", "well");
            Assert.Equal((1, failure), (refused.ExitCode, refused.ReadJson().Text("failure")));
        }

        (await RunAsync("test", "none")).AssertFailed(1, "No endpoint");
        Assert.Equal(0, (await RunAsync("replay", "well", "--after", PositionOf(0))).ExitCode);
        await ReceivedAsync(Well, 4);
        Assert.Equal(0, (await RunAsync("replay", "well")).ExitCode);
        await ReceivedAsync(Well, 6);
        Assert.Equal(["bad", "well"], (await RunAsync("list")).ReadJson().EnumerateArray().Select(
            row => row.Text("name")));

        var ids = _receiver.CallsOf(Well).Where(call => call.Event.Text("type") != "webhook.test")
            .Select(call => call.Id).ToList();
        Assert.Equal([ids[0], ids[1], ids[1], ids[0], ids[1]], ids);

        string PositionOf(int call) => _receiver.CallsOf(Well).FindAll(
            one => one.Event.Text("type") != "webhook.test")[call].Event.Text("position")!;

        Task<Verb> RunAsync(params string[] args) =>
            Verb.RunAsync(["webhooks", .. args, "--url", gateway.Url, "--json"]);
    }

    // Its certificate would be asked for only after the connection.
    [PostgresTheory]
    [InlineData("https://127.0.0.1:1/")]
    [InlineData("https://localhost:1/")]
    [InlineData("https://[::1]:1/")]
    [InlineData("http://169.254.169.254:1/", true)]
    public async Task A_private_address_is_refused_where_it_is_not_allowed(string url, bool allowsPrivate = false)
    {
        var gateway = await StartAsync($"Webhooks:well:Url={url}", $"Webhooks:well:AllowPrivate={allowsPrivate}");

        using var answer = await gateway.PostAsync("admin/webhooks/well/test");

        Assert.Contains(
            "no address that is allowed", await answer.Content.ReadAsStringAsync(), StringComparison.Ordinal);
    }

    // An endpoint gets what happens after it has its position.
    private async Task<GatewayHost> StartAsync(params string[] settings)
    {
        var gateway = await Rig.StartGatewayAsync(
        [
            .. Names.SelectMany(name => new[]
            {
                $"Webhooks:{name}:Url={_receiver.Url}/{name}", $"Webhooks:{name}:Secret={Secret}",
                $"Webhooks:{name}:AllowPrivate=true", $"Webhooks:{name}:AllowHttp=true",
            }),
            .. settings,
        ]);
        await Eventually.HoldsAsync(
            async () => await Rig.Database.ScalarAsync<long>("SELECT count(position) FROM webhooks") == 2,
            "both endpoints have a position");
        return gateway;
    }

    private Task ReceivedAsync(string path, int count) => Eventually.HoldsAsync(
        () => _receiver.CallsOf(path).Count(call => call.Status == 200) >= count, $"{path} has taken {count} events");

    private static Task FailuresAsync(GatewayHost gateway, Func<int, bool> areEnough) => Eventually.HoldsAsync(
        async () =>
        {
            using var list = JsonDocument.Parse(await gateway.GetAsync("admin/webhooks"));
            return areEnough(list.RootElement.GetProperty("webhooks")[0].GetProperty("failures").GetInt32());
        },
        "the list shows its failures");
}

/// <summary>Signatures, addresses, delays and settings of webhooks.</summary>
public sealed class WebhookRulesTests
{
    // Of github.com/standard-webhooks/standard-webhooks.
    [Fact]
    public void A_signature_is_that_of_the_scheme() => Assert.Equal(
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        WebhookClient.Sign(
            Convert.FromBase64String("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
            Encoding.UTF8.GetBytes("""{"test": 2432232314}""")));

    [Theory]
    [InlineData("127.0.0.1", true)]
    [InlineData("10.1.2.3", true)]
    [InlineData("100.64.0.1", true)]
    [InlineData("169.254.169.254", true)]
    [InlineData("172.31.255.255", true)]
    [InlineData("192.168.1.1", true)]
    [InlineData("0.0.0.0", true)]
    [InlineData("239.0.0.1", true)]
    [InlineData("255.255.255.255", true)]
    [InlineData("::", true)]
    [InlineData("::1", true)]
    [InlineData("::ffff:127.0.0.1", true)]
    [InlineData("64:ff9b::7f00:1", true)]
    [InlineData("168.63.129.16", true)]
    [InlineData("168.63.129.17", false)]
    [InlineData("::ffff:0:7f00:1", true)]
    [InlineData("2002:7f00:1::", true)]
    [InlineData("fd00::1", true)]
    [InlineData("fe80::1", true)]
    [InlineData("ff02::1", true)]
    [InlineData("1.1.1.1", false)]
    [InlineData("172.32.0.1", false)]
    [InlineData("::ffff:1.1.1.1", false)]
    [InlineData("2606:4700:4700::1111", false)]
    public void Addresses_that_no_public_host_has_are_private(string address, bool isPrivate) =>
        Assert.Equal(isPrivate, WebhookClient.IsRefused(IPAddress.Parse(address), allowsPrivate: false));

    [Theory]
    [InlineData("169.254.169.254", true)]
    [InlineData("168.63.129.16", true)]
    [InlineData("::ffff:169.254.169.254", true)]
    [InlineData("::ffff:0:a9fe:a9fe", true)]
    [InlineData("64:ff9b::a9fe:a9fe", true)]
    [InlineData("fe80::1", true)]
    [InlineData("fd00:ec2::254", true)]
    [InlineData("fd00:ec2::253", false)]
    [InlineData("10.1.2.3", false)]
    [InlineData("127.0.0.1", false)]
    [InlineData("64:ff9b::a00:1", false)]
    public void Addresses_where_clouds_tell_secrets_are_never_allowed(string address, bool isRefused) =>
        Assert.Equal(isRefused, WebhookClient.IsRefused(IPAddress.Parse(address), allowsPrivate: true));

    [Theory]
    [InlineData(1, 1)]
    [InlineData(2, 2)]
    [InlineData(12, 2_048)]
    [InlineData(13, 3_600)]
    [InlineData(1_000, 3_600)]
    public void A_delay_is_anything_up_to_a_double_of_the_one_before_and_an_hour(int failures, double most)
    {
        Assert.Equal(most, WebhookWorker.BackoffOf(failures, 1).TotalSeconds);
        Assert.Equal(most / 4, WebhookWorker.BackoffOf(failures, 0.25).TotalSeconds);
        Assert.Equal(TimeSpan.Zero, WebhookWorker.BackoffOf(failures, 0));
    }

    [Fact]
    public async Task A_certificate_missing_from_the_chain_is_not_fetched()
    {
        using var issuer = new TcpListener(IPAddress.Loopback, 0);
        issuer.Start();
        using var certificate = SelfSigned.Create(new Uri($"http://{issuer.LocalEndpoint}/issuer.crt"));
        await using var receiver = ProcessorFront.Open(new Uri("http://127.0.0.1:1"), certificate);
        using var client = new WebhookClient(TimeProvider.System);
        var now = DateTime.UtcNow;

        var failure = await client.SendAsync(
            new WebhookOptions("shop", receiver.BaseAddress, [new byte[24]], [], true),
            new EventAnswer("1-0-1", null, "webhook.test", now, Guid.Empty, 0, null, now, null, null), default);

        Assert.Contains("SSL", failure?.Reason, StringComparison.Ordinal);
        Assert.False(issuer.Pending());
    }

    [Theory]
    [InlineData("Url", "http://shop.example/hook")]
    [InlineData("Url", "/hook")]
    [InlineData("Url", null)]
    [InlineData("Url", "https://user:c2hvcnQ@shop.example/hook")]
    [InlineData("Url", "https://shop.example/hook#c2hvcnQ")]
    [InlineData("Secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw whsec_c2hvcnQ=")]
    [InlineData("Secret", "whsec_c2hvcnQ=")]
    [InlineData("Secret", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    [InlineData("Secret", null)]
    [InlineData("Events", "payment.settled,payment.lost")]
    [InlineData("AllowPrivate", "perhaps")]
    public void A_wrong_setting_is_named_and_its_secret_is_not_shown(string setting, string? value)
    {
        (string, string?)[] all =
        [
            ("Gateway:Webhooks:shop:Url", "https://shop.example/hook"),
            ("Gateway:Webhooks:shop:Secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
            ($"Gateway:Webhooks:shop:{setting}", value),
        ];

        var wrong = Assert.Throws<ConfigurationException>(() => WebhookOptions.Read(TestSettings.ReaderOf(all)));

        Assert.StartsWith($"Gateway__Webhooks__shop__{setting}: ", wrong.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("c2hvcnQ", wrong.Message, StringComparison.Ordinal);
        Assert.Equal("/hook", WebhookOptions.Read(TestSettings.ReaderOf(all[..2]))[0].Url.AbsolutePath);
    }

    [Fact]
    public void A_name_may_be_written_in_any_case() => Assert.Equal("shop", WebhookOptions.Read(TestSettings.ReaderOf(
        ("Gateway:Webhooks:Shop:Url", "https://shop.example/hook"),
        ("Gateway:Webhooks:SHOP:Secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")))[0].Name);
}
