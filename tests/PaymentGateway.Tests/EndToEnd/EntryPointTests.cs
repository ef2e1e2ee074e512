namespace PaymentGateway.Tests.EndToEnd;

/// <summary>What nginx makes of odd requests and connections, in each way that it may listen.</summary>
public sealed class EntryPointTests : OwnRig
{
    private const string Plain = "#listen [::]:9999 backlog=4096;";
    private const string Tls = "#listen [::]:9999 ssl backlog=4096;";

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);

    private readonly OwnNginx _nginx = OwnNginx.Prepare();

    public override async Task DisposeAsync()
    {
        await _nginx.DisposeAsync();
        await base.DisposeAsync();
    }

    // For nginx the path ends there, and an instance would resolve the rest of it: /x#/../docs is /docs.
    [GatewaySystemTheory]
    [InlineData("one-machine.conf")]
    [InlineData("hosts.conf")]
    public async Task A_number_sign_in_the_first_line_is_refused_before_an_instance_sees_it(string upstreams)
    {
        await StartAsync(upstreams);
        string[] lines =
        [
            "GET /x#/../docs/swagger-ui.js", "GET /#", "POST /payments#", "GET http://gateway/x#/../docs",
            "POST /x#/../purge-payments", "GET /ops/x#/../../payments-summary",
        ];

        foreach (var line in lines)
        {
            using var connection = await RawConnection.FromAsync(IPAddress.Loopback, _nginx.Port);
            await connection.SendAsync($"{line} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n");
            var answer = ReadAnswer.OfRaw((await connection.ReadToEndAsync(Limit)).Text);
            Assert.Equal((line, 400), (line, answer.Status));
            Assert.Equal("about:blank", $"{answer.Json()["type"]}");
        }

        using var client = UnixHttp.Plain(new Uri($"http://127.0.0.1:{_nginx.Port}"));
        using var encoded = await client.GetAsync("%23");
        Assert.Equal(HttpStatusCode.NotFound, encoded.StatusCode);
    }

    // As `nc -N` and old clients do.
    [GatewaySystemFact]
    public async Task A_client_that_closes_its_sending_side_behind_a_request_is_answered()
    {
        const int Payments = 20;
        await StartAsync("one-machine.conf");

        for (var at = 0; at < Payments; at++)
        {
            var body = $$"""{"correlationId":"{{Guid.NewGuid()}}","amount":19.90}""";
            Assert.Equal([202], await AnswersAsync(
                $"POST /payments HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"
                + $"Content-Length: {body.Length}\r\n\r\n{body}"));
        }

        await Rig.LedgersReachAsync(byDefault: Payments);
        Assert.Equal([200], await AnswersAsync("GET /payments-summary HTTP/1.1\r\nHost: gateway\r\n\r\n"));
        Assert.Equal(
            [404], await AnswersAsync($"GET /payments/{Guid.NewGuid()} HTTP/1.1\r\nHost: gateway\r\n\r\n"));
    }

    [IPv6Fact]
    public async Task Clients_come_by_IPv6_where_the_line_for_it_is_uncommented()
    {
        _nginx.Write(
            "nginx.conf", (Plain, Plain[1..]), ("listen 9999", $"listen {_nginx.Port}"),
            ("listen [::]:9999", $"listen [::]:{_nginx.Port}"));
        await _nginx.StartAsync(await Rig.StartGatewayAsync());
        using var client = UnixHttp.Plain(new Uri($"http://[::1]:{_nginx.Port}"));

        using var paid = await client.PostAsJsonAsync(
            "payments", new { correlationId = Guid.NewGuid(), amount = 19.90m });

        Assert.Equal(HttpStatusCode.Accepted, paid.StatusCode);
    }

    // Otherwise an operator who takes plain HTTP out would leave it on the other protocol.
    [Fact]
    public void Every_file_that_listens_has_the_line_for_IPv6_beside_the_other_and_none_listens_there_by_default()
    {
        foreach (var (file, line) in new[] { ("nginx.conf", Plain), ("connections.conf", Plain), ("tls.conf", Tls) })
        {
            var text = File.ReadAllText(Repository.PathOf("nginx", file));
            Assert.Contains(line, text, StringComparison.Ordinal);
            Assert.Contains(line[1..].Replace("[::]:", "", StringComparison.Ordinal), text, StringComparison.Ordinal);
            Assert.Equal(1, text.Split("[::]").Length - 1);
        }
    }

    private async Task StartAsync(string upstreams)
    {
        _nginx.Write("nginx.conf", ("listen 9999", $"listen {_nginx.Port}"));
        var gateway = await Rig.StartGatewayAsync("Admin:Purge=Everyone");
        if (upstreams == "one-machine.conf")
            await _nginx.StartAsync(gateway);
        else
            await _nginx.StartAsync(upstreams, [.. Enumerable.Range(11, 3).Select(
                host => ($"10.0.0.{host}:8080", $"unix:{gateway.Socket}"))]);
    }

    private async Task<IReadOnlyList<int>> AnswersAsync(string request)
    {
        using var connection = await RawConnection.FromAsync(IPAddress.Loopback, _nginx.Port);
        await connection.SendAsync(request);
        connection.EndSending();
        return (await connection.ReadToEndAsync(Limit)).Statuses;
    }
}

public sealed class IPv6FactAttribute() : NeedsFactAttribute(
    WholeSystem, GatewaySystemParts.SkipReason ?? (Socket.OSSupportsIPv6 ? null : "lacks ipv6: the kernel has none"));
