namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// nginx.conf, nginx/limits.conf: one address takes all that it can get, and another one is served.
/// </summary>
[Collection(Alone.Name), Trait(Alone.Lane, Alone.Name)]
public sealed class AddressLimitsTests : OwnRig
{
    // nginx.conf: what one worker may have in flight, and its connections.
    private const int InFlightMax = 1_024;
    private const int ConnectionsMax = 4_096;

    // limits.conf and connections.conf: what one address may have of each.
    private const int OfOneAddress = 128;

    // nginx.conf: what one address may have where neither file is.
    private const int OfOneAddressAlways = 896;

    private static readonly IPAddress Greedy = IPAddress.Parse("127.0.0.2");
    private static readonly TimeSpan Pace = TimeSpan.FromMilliseconds(500);
    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(1);

    // Sooner than nginx ends half a header by itself.
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(3);

    private readonly OwnNginx _nginx = OwnNginx.Prepare();
    private readonly List<RawConnection> _held = [];
    private bool _isOver;

    public override async Task DisposeAsync()
    {
        foreach (var connection in _held)
            connection.Dispose();
        await _nginx.DisposeAsync();
        await base.DisposeAsync();
    }

    [GatewaySystemTheory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Slow_bodies_of_one_address_leave_another_one_its_payments(bool behindBalancer)
    {
        const int TooMany = 76;
        _nginx.Write("nginx.conf", ("listen 9999", $"listen {_nginx.Port}"));
        _nginx.Write("limits.conf", behindBalancer ? RealAddressBy("X-Forwarded-For") : []);
        await _nginx.StartAsync(await Rig.StartGatewayAsync());

        await HoldAsync(InFlightMax + TooMany, behindBalancer ? IPAddress.Loopback : Greedy);
        var ends = _held.Select(one => one.DribbleAsync(SlowBody("/payments"), Pace, Deadline)).ToList();
        await Eventually.HoldsAsync(() => CountRefused() >= TooMany, "nginx takes no more of that address");
        var answered = await PayAsync(forwardedFor: behindBalancer ? "10.1.2.4" : null);

        Assert.Equal(HttpStatusCode.Accepted, answered);
        await Eventually.HoldsAsync(
            () => CountRefused() == InFlightMax + TooMany - OfOneAddress, "all above its share are refused");
        Volatile.Write(ref _isOver, true);
        Assert.Equal(OfOneAddress, (await Task.WhenAll(ends)).Count(end => end.Statuses is []));
        await Rig.LedgersReachAsync(byDefault: 1);
    }

    // 0.4 bytes/s each; as many as nginx has in flight at all.
    [GatewaySystemFact]
    public async Task Without_limits_conf_too_dripping_bodies_of_one_address_stop_no_other_and_refusals_are_logged()
    {
        const int Payments = 40;
        _nginx.Write("nginx.conf", ("listen 9999", $"listen {_nginx.Port}"), ("stderr warn", "error.log warn"));
        await _nginx.StartAsync(await Rig.StartGatewayAsync());

        await HoldAsync(InFlightMax, Greedy);
        foreach (var one in _held)
            _ = one.DribbleAsync(SlowBody("/payments"), TimeSpan.FromSeconds(2.5), Deadline);
        var refused = InFlightMax - OfOneAddressAlways;
        await Eventually.HoldsAsync(() => CountRefused() == refused, "all above its share are refused");
        for (var at = 0; at < Payments; at++)
            Assert.Equal(HttpStatusCode.Accepted, await PayAsync());

        var log = await File.ReadAllLinesAsync(Path.Combine(_nginx.Folder, "error.log"));
        Assert.Equal(refused, log.Count(line => line.Contains("limiting connections by zone \"one_address\"")
            && line.Contains($"client: {Greedy}")));
        Volatile.Write(ref _isOver, true);
        await Rig.LedgersReachAsync(byDefault: Payments);
    }

    [GatewaySystemFact]
    public async Task Slow_requests_of_the_docs_leave_payments_alone_however_their_path_is_spelt()
    {
        const int OfDocs = 32;
        _nginx.Write("nginx.conf", ("listen 9999", $"listen {_nginx.Port}"));
        await _nginx.StartAsync(await Rig.StartGatewayAsync());

        await HoldAsync(2 * OfDocs, Greedy);
        for (var at = 0; at < _held.Count; at++)
            _ = _held[at].DribbleAsync(SlowBody(at % 2 == 0 ? "/Docs/index.css" : "/openapi.json/"), Pace, Deadline);
        await Eventually.HoldsAsync(() => CountRefused() == OfDocs, "nginx takes no more of the docs");

        Assert.Equal(HttpStatusCode.Accepted, await PayAsync());
        Volatile.Write(ref _isOver, true);
    }

    [GatewaySystemFact]
    public async Task Too_many_requests_of_one_address_get_503_with_Retry_After_and_another_one_is_served()
    {
        const int Requests = 20;
        _nginx.Write("nginx.conf", ("listen 9999", $"listen {_nginx.Port}"));
        // So few that the slowest machine sends more.
        _nginx.Write("limits.conf", ("rate=1000r/s", "rate=1r/m"), ("burst=1000", "burst=9"));
        await _nginx.StartAsync(await Rig.StartGatewayAsync());

        await HoldAsync(1, Greedy);
        await _held[0].SendAsync(string.Concat(
            Enumerable.Repeat("GET /healthz HTTP/1.1\r\nHost: gateway\r\n\r\n", Requests - 1))
            + "GET /healthz HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n");
        var greedy = await _held[0].ReadToEndAsync(Deadline);

        Assert.Equal([.. Enumerable.Repeat(200, 10), .. Enumerable.Repeat(503, 10)], greedy.Statuses);
        Assert.Contains("\r\nRetry-After: 1\r\n", greedy.Text);
        Assert.Equal(HttpStatusCode.Accepted, await PayAsync());
    }

    [StreamModuleFact]
    public async Task Half_headers_of_one_address_leave_another_one_its_connections()
    {
        var inner = GatewaySystemSettings.FreePort();
        _nginx.Write("nginx.conf", ("listen 9999 ", $"listen 127.0.0.1:{inner} proxy_protocol "));
        _nginx.Write("limits.conf", RealAddressBy("proxy_protocol"));
        _nginx.Write(
            "connections.conf", ("listen 9999 backlog", $"listen {_nginx.Port} backlog"),
            ("127.0.0.1:9997", $"127.0.0.1:{inner}"),
            ("#load_module", StreamModuleFactAttribute.IsFile ? "load_module" : "#"));
        await _nginx.StartAsync(await Rig.StartGatewayAsync());

        // Its first bytes at once: a connection without any is closed for another one.
        var ends = new List<Task<RawAnswers>>();
        while (ends.Count < ConnectionsMax + 100)
        {
            await HoldAsync(ends.Count + 1, Greedy);
            ends.Add(_held[^1].DribbleAsync([Header("/payments")], Pace, Deadline));
        }

        await Eventually.HoldsAsync(
            () => ends.Count(end => end.IsCompleted) >= _held.Count - ConnectionsMax, "nginx takes no more of them");
        var answered = await PayAsync();

        Assert.Equal(HttpStatusCode.Accepted, answered);
        await Rig.LedgersReachAsync(byDefault: 1);
    }

    private static string Header(string path) =>
        $"POST {path} HTTP/1.1\r\nHost: gateway\r\nX-Forwarded-For: 10.1.2.3\r\n";

    // The lines that an operator changes.
    private static (string Old, string New)[] RealAddressBy(string header) =>
    [
        ("#set_real_ip_from 10.0.0.2;", "set_real_ip_from 127.0.0.1;"),
        ("#real_ip_header X-Forwarded-For;", $"real_ip_header {header};"),
    ];

    private IEnumerable<string> SlowBody(string path)
    {
        yield return $"{Header(path)}Content-Length: 4000\r\n\r\n";
        while (!Volatile.Read(ref _isOver))
            yield return " ";
    }

    private int CountRefused() => _held.Count(one => one.Statuses is [503]);

    private async Task HoldAsync(int count, IPAddress from)
    {
        while (_held.Count < count)
            _held.Add(await RawConnection.FromAsync(from, _nginx.Port));
    }

    // Pays from 127.0.0.1, on a connection of its own.
    private async Task<HttpStatusCode> PayAsync(string? forwardedFor = null)
    {
        using var client = UnixHttp.Plain(new Uri($"http://127.0.0.1:{_nginx.Port}"), AnswerLimit);
        if (forwardedFor is not null)
            client.DefaultRequestHeaders.Add("X-Forwarded-For", forwardedFor);
        using var answer = await client.PostAsJsonAsync(
            "payments", new { correlationId = Guid.NewGuid(), amount = 19.90m });
        return answer.StatusCode;
    }
}

/// <summary>A fact that needs nginx with its module stream.</summary>
public sealed class StreamModuleFactAttribute() : NeedsFactAttribute(
    WholeSystem,
    GatewaySystemParts.SkipReason ?? (IsFile ? null : "lacks libnginx-mod-stream: eng/setup tests brings it"))
{
    /// <summary>Debian has it in a file, which the configuration loads.</summary>
    public static bool IsFile { get; } = File.Exists("/usr/lib/nginx/modules/ngx_stream_module.so");
}
