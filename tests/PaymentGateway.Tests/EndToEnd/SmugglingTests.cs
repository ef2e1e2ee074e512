namespace PaymentGateway.Tests.EndToEnd;

/// <summary>Nobody can hide a payment in another request: not at nginx, not at Kestrel, not between the two.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class SmugglingTests(RunningSystem running, ITestOutputHelper output) : OnRunningSystem(running)
{
    private const string Probe = "GET /healthz HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n";

    // What RFC 9112 asks for; and what an instance says to a chunk's size past 64 bits, which nginx lets none see.
    private const int UnknownCoding = 501;
    private const int OwnFailure = 500;

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(10);

    private readonly List<Guid> _meant = [];
    private readonly List<Guid> _hidden = [];

    [GatewaySystemFact]
    public Task Through_nginx_every_smuggling_attempt_is_refused_or_one_request() => HideNothingAsync(
        () => RawConnection.ToNginxAsync(System), attempt => attempt.ByNginx, UnknownCoding);

    [GatewaySystemFact]
    public Task At_an_instance_every_smuggling_attempt_is_refused_or_one_request() => HideNothingAsync(
        () => RawConnection.ToInstanceAsync(System, GatewaySystem.First), attempt => attempt.ByInstance, OwnFailure);

    [GatewaySystemFact]
    public async Task A_request_that_nginx_accepts_leniently_reaches_an_instance_as_one_strict_request()
    {
        await System.StopAsync(GatewaySystem.First, GatewaySystem.Second);
        using var upstream = Listen(System.SocketOf(GatewaySystem.First));

        foreach (var attempt in SmugglingAttempts.All.Where(attempt => attempt.ByNginx == Verdict.One))
        {
            using var client = await RawConnection.ToNginxAsync(System);
            await client.SendAsync(Write(attempt));
            var seen = await TakeOneAsync(upstream);
            await client.SendAsync(Probe);
            await TakeOneAsync(upstream);
            Assert.Equal([202, 202], (await client.ReadToEndAsync(Limit)).Statuses);

            // One header, its lines ended strictly, one length and no chunks; and a body of just that length.
            var end = seen.IndexOf("\r\n\r\n", StringComparison.Ordinal);
            var lines = seen[..end].Split("\r\n");
            var length = Assert.Single(lines, line => line.StartsWith("Content-Length: ", StringComparison.Ordinal));
            Assert.DoesNotContain('\n', string.Concat(lines));
            Assert.DoesNotContain(lines, line => line.StartsWith("Transfer", StringComparison.OrdinalIgnoreCase));
            Assert.Equal($"Content-Length: {seen.Length - end - 4}", length);
        }
    }

    // Other classes use the system as it is.
    public override Task DisposeAsync() => System.ResetAsync();

    private async Task HideNothingAsync(
        Func<Task<RawConnection>> connect, Func<SmugglingAttempt, Verdict> expected, int alsoRefused)
    {
        var wrong = new List<string>();
        var taken = 0;
        foreach (var attempt in SmugglingAttempts.All)
        {
            var answers = await SendAsync(await connect(), attempt);
            output.WriteLine($"{attempt.Name}: {answers}");
            var isAsExpected = (expected(attempt), answers.Statuses) switch
            {
                (Verdict.Refused, [var status]) => status is >= 400 and < 500 || status == alsoRefused,
                (Verdict.OneAndClosed, [200 or 202]) => true,
                (Verdict.One, [200 or 202, 200]) => true,
                _ => false,
            };
            if (!isAsExpected)
                wrong.Add($"{attempt.Name}: {answers}, and not {expected(attempt)}");
            taken += answers.Statuses.Count(status => status == 202);
        }

        Assert.True(wrong.Count == 0, string.Join('\n', wrong));
        await Eventually.HoldsAsync(System.IsIdleAsync, "what was taken is settled");
        var settlements = await System.Database.SettlementsAsync();
        Assert.DoesNotContain(_hidden, settlements.ContainsKey);
        Assert.Equal(taken, settlements.Count);
        Assert.Equal(taken, _meant.Count(settlements.ContainsKey));
        Assert.Equal(taken, await System.Database.CountAsync("payments"));
    }

    private async Task<RawAnswers> SendAsync(RawConnection connection, SmugglingAttempt attempt)
    {
        using (connection)
        {
            await connection.SendAsync(Write(attempt) + Probe);
            return await connection.ReadToEndAsync(Limit);
        }
    }

    private string Write(SmugglingAttempt attempt)
    {
        _meant.Add(Guid.NewGuid());
        _hidden.Add(Guid.NewGuid());
        return attempt.Write(Body(_meant[^1]), SmugglingAttempts.Request(Body(_hidden[^1])));
    }

    private static string Body(Guid id) => $$"""{"correlationId":"{{id}}","amount":1.00}""";

    private static Socket Listen(string path)
    {
        var listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        File.Delete(path);
        listener.Bind(new UnixDomainSocketEndPoint(path));
        listener.Listen();
        File.SetUnixFileMode(path, (UnixFileMode)0b110_110_110);
        return listener;
    }

    // The end of what nginx sends is known from its own length, so a second request behind it would be seen.
    private static async Task<string> TakeOneAsync(Socket listener)
    {
        using var limit = new CancellationTokenSource(Limit);
        using var connection = await listener.AcceptAsync(limit.Token);
        var (seen, buffer) = (new StringBuilder(), new byte[8192]);
        while (!IsWhole(seen.ToString()))
        {
            var length = await connection.ReceiveAsync(buffer, limit.Token);
            Assert.NotEqual(0, length);
            seen.Append(Encoding.Latin1.GetString(buffer, 0, length));
        }

        var answer = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        await connection.SendAsync(Encoding.Latin1.GetBytes(answer), limit.Token);
        connection.Shutdown(SocketShutdown.Send);
        while (await connection.ReceiveAsync(buffer, limit.Token) is > 0 and var more)
            seen.Append(Encoding.Latin1.GetString(buffer, 0, more));
        return seen.ToString();
    }

    private static bool IsWhole(string seen)
    {
        var end = seen.IndexOf("\r\n\r\n", StringComparison.Ordinal);
        if (end < 0)
            return false;
        const string Name = "Content-Length: ";
        var length = seen[..end].Split("\r\n").FirstOrDefault(line => line.StartsWith(Name, StringComparison.Ordinal));
        return length is null || seen.Length - end - 4 >= int.Parse(length[Name.Length..], null);
    }
}
