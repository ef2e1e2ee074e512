namespace PaymentGateway.Tests.EndToEnd;

[Collection(AlsoOneAfterAnother.Name)]
public sealed class SmugglingTests(RunningSystem running, ITestOutputHelper output) : OnRunningSystem(running)
{
    private const string Probe = "GET /healthz HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n";

    // The status that RFC 9112 asks for; an instance's to a chunk size past 64 bits, which nginx lets none see.
    private const int UnknownCoding = 501;
    private const int OwnFailure = 500;

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(10);

    private readonly List<Guid> _meant = [];
    private readonly List<Guid> _hidden = [];

    // nginx accepts a bare LF, which an instance refuses: such a request arrives there in nginx's own strict form.
    [GatewaySystemFact]
    public Task Through_nginx_every_smuggling_attempt_is_refused_or_one_request() => HideNothingAsync(
        () => RawConnection.ToNginxAsync(System), attempt => attempt.ByNginx, UnknownCoding);

    [GatewaySystemFact]
    public Task At_an_instance_every_smuggling_attempt_is_refused_or_one_request() => HideNothingAsync(
        () => RawConnection.ToInstanceAsync(System, GatewaySystem.First), attempt => attempt.ByInstance, OwnFailure);

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
}
