using System.IO.Compression;
using Microsoft.AspNetCore.Http;

namespace PaymentGateway.Tests.Charging;

/// <summary>The forms in which processors write a stored payment, and what an operator sees of the others.</summary>
public sealed class LookUpAnswerTests : IAsyncLifetime
{
    private const string Whole =
        """{"correlationId":"ID","amount":19.90,"requestedAt":"2025-07-15T12:34:56.125012Z"}""";

    private static readonly DateTime At = DateTime.Parse(
        "2025-07-15T12:34:56.125012Z", CultureInfo.InvariantCulture, DateTimeStyles.AdjustToUniversal);

    private readonly Payment _payment = Batches.NewCharge();
    private readonly FakeTimeProvider _clock = new();
    private Func<HttpResponse, Task> _answer = _ => Task.CompletedTask;
    private ScriptedPeer _peer = null!;
    private Stages _lanes = null!;

    private ProcessorClient Client => _lanes.Default.Client;

    private IReadOnlyCollection<string> Log => _lanes.ShownOf<ProcessorClient>();

    public async Task InitializeAsync()
    {
        _peer = await ScriptedPeer.StartAsync(context => _answer(context.Response));
        _lanes = Stages.BuildLanes(
            _peer.Url, _peer.Url, _clock, ("Gateway:Processors:Default:AdminToken", "x"),
            ("Gateway:Processors:Fallback:AdminToken", "x"));
    }

    public async Task DisposeAsync()
    {
        await _lanes.DisposeAsync();
        await _peer.DisposeAsync();
    }

    [Theory]
    [InlineData("19.90", "19.9")]
    [InlineData("19.90", "19.900000000000002")]
    [InlineData("19.90", "19.899999999999999")]
    [InlineData("19.90", "1.99e1")]
    [InlineData("19.90", "\"19.90\"")]
    [InlineData("correlationId", "CorrelationId")]
    [InlineData("correlationId", "CORRELATIONID")]
    [InlineData("amount", "Amount")]
    [InlineData("requestedAt", "requestedat")]
    [InlineData("T12:34:56.125012Z", "T12:34:56.125012")]
    [InlineData("T12:34:56.125012Z", "T12:34:56.125012345Z")]
    [InlineData("T12:34:56.125012Z", "T12:34:56.1250129999999999Z")]
    [InlineData("T12:34:56.125012Z", " 12:34:56.125012")]
    [InlineData("T12:34:56.125012Z", " 12:34:56.125012+00")]
    [InlineData("T12:34:56.125012Z", "t12:34:56.125012z")]
    [InlineData("T12:34:56.125012Z", "T14:34:56.125012+02:00")]
    [InlineData("{", "\uFEFF{")]
    [InlineData("{", "{\"status\":\"paid\",")]
    public async Task A_form_with_one_meaning_is_taken(string part, string form)
    {
        _answer = Text(200, Whole.Replace(part, form, StringComparison.Ordinal));

        Assert.Equal(new LookupOutcome(LookupResult.Found, 1990, At), await Client.LookUpAsync(_payment.Id));
        Assert.Empty(Log);
    }

    [Theory]
    [InlineData(200, "\"amount\":19.90,", "", "200 {\"correlationId\":\"")]
    [InlineData(200, "19.90", "19.9001", "\"amount\":00.0000,")]
    [InlineData(200, "19.90", "\"19,90\"", "\"amount\":\"00,00\",")]
    [InlineData(200, "19.90", "-19.90", "\"amount\":-00.00,")]
    [InlineData(200, "\"2025-07-15T12:34:56.125012Z\"", "1752582896125", "\"requestedAt\":0000000000000}")]
    [InlineData(200, "2025-07-15T12:34:56.125012Z", "15.07.2025 12:34:56", "\"requestedAt\":\"00.00.0000 00:00:00\"")]
    [InlineData(200, Whole, "[" + Whole + "]", "200 [{\"correlationId\":\"")]
    [InlineData(200, "ID", "4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3", "200 {\"correlationId\":\"0a0000b0-0d00-")]
    [InlineData(200, Whole, "<html>\u001b[2Jhello\r\nworld", "200 <html> [0Jhello world")]
    [InlineData(200, Whole, "", "200")]
    [InlineData(204, Whole, "", "204")]
    [InlineData(302, Whole, "<html>moved", "302 <html>moved")]
    [InlineData(403, Whole, "<html>Request blocked", "403 <html>Request blocked")]
    [InlineData(500, Whole, "oops", "500 oops")]
    public async Task Any_other_form_is_shown_in_the_log_once_a_minute_with_a_0_for_each_digit(
        int status, string part, string form, string shown)
    {
        _answer = Text(status, Whole.Replace(part, form, StringComparison.Ordinal));

        for (var second = 0; second < 60; second += 10)
        {
            Assert.Equal("Unreadable", $"{(await Client.LookUpAsync(_payment.Id)).Result}");
            _clock.Advance(TimeSpan.FromSeconds(10));
        }

        var line = Assert.Single(Log);
        Assert.Contains("default", line, StringComparison.Ordinal);
        Assert.Contains(shown, line, StringComparison.Ordinal);
        Assert.DoesNotContain(line, char.IsControl);
        Assert.InRange(line.Length, 1, 400);

        await Client.LookUpAsync(_payment.Id);

        Assert.Equal(2, Log.Count);
    }

    [Fact]
    public async Task A_processor_is_shown_as_unreadable_until_two_minutes_have_passed()
    {
        _answer = Text(200, "[]");
        Assert.False(_lanes.Default.Read().Unreadable);

        await Client.LookUpAsync(_payment.Id);
        _clock.Advance(TimeSpan.FromSeconds(119));

        Assert.True(_lanes.Default.Read().Unreadable);
        Assert.False(_lanes.Fallback.Read().Unreadable);
        _clock.Advance(TimeSpan.FromSeconds(1));
        Assert.False(_lanes.Default.Read().Unreadable);
    }

    [Theory]
    [InlineData("gzip")]
    [InlineData("utf-16")]
    [InlineData("5 KB")]
    public async Task A_body_in_another_encoding_or_too_long_is_shown_in_the_log(string form)
    {
        var body = Encoding.UTF8.GetBytes(Whole.Replace("ID", $"{_payment.Id}", StringComparison.Ordinal));
        _answer = Bytes(200, form switch
        {
            "gzip" => Zipped(body),
            "utf-16" => Encoding.Convert(Encoding.UTF8, Encoding.Unicode, body),
            _ => [.. body[..^1], .. Enumerable.Repeat((byte)' ', 5_000), (byte)'}'],
        });

        Assert.Equal("Unreadable", $"{(await Client.LookUpAsync(_payment.Id)).Result}");
        Assert.DoesNotContain(Assert.Single(Log), char.IsControl);
    }

    [Theory]
    [InlineData(404, "NotFound")]
    [InlineData(429, "Unknown")]
    public async Task An_answer_of_the_contract_is_not_logged(int status, string result)
    {
        _answer = Text(status, "");

        Assert.Equal(result, $"{(await Client.LookUpAsync(_payment.Id)).Result}");
        Assert.Empty(Log);
    }

    [Theory]
    [InlineData("0", 0)]
    [InlineData("60", 60)]
    [InlineData("300", 300)]
    [InlineData("301", 300)]
    [InlineData("86400", 300)]
    [InlineData("Tue, 15 Jul 2025 12:00:45 GMT", 45)]
    [InlineData("Tue, 15 Jul 2025 13:00:00 GMT", 300)]
    [InlineData("Tue, 15 Jul 2025 11:59:00 GMT", 0)]
    public async Task A_429s_pause_is_obeyed_up_to_five_minutes_by_the_processors_own_clock(string after, int seconds)
    {
        _answer = response =>
        {
            response.Headers.Date = "Tue, 15 Jul 2025 12:00:00 GMT";
            response.Headers.RetryAfter = after;
            return Text(429, "")(response);
        };

        Assert.Equal(TimeSpan.FromSeconds(seconds), (await Client.ChargeAsync(_payment)).RetryAfter);
        Assert.Equal(TimeSpan.FromSeconds(seconds), (await Client.LookUpAsync(_payment.Id)).RetryAfter);
    }

    [Fact]
    public async Task Every_call_says_who_calls()
    {
        _answer = Text(404, "");

        await Client.ChargeAsync(_payment);
        await Client.LookUpAsync(_payment.Id);
        await Client.AskHealthAsync();
        await Client.SumAsync(At, At);

        Assert.Equal(4, _peer.Calls.Count);
        Assert.All(_peer.Calls, call => Assert.Matches(@" PaymentGateway/\d+\.\d+\.\d+$", call));
    }

    [Theory]
    [InlineData("39.800000000000004", "3980")]
    [InlineData("\"39.80\"", "3980")]
    [InlineData("39.8049", "3980.49")]
    public async Task Sums_of_doubles_are_read_to_the_cent(string amount, string cents)
    {
        _answer = Text(200, $"{{\"totalRequests\":2,\"totalAmount\":{amount}}}");

        var exact = decimal.Parse(cents, CultureInfo.InvariantCulture);
        Assert.Equal(new SummaryOutcome(SummaryResult.Reported, 2, exact), await Client.SumAsync(At, At));
    }

    private Func<HttpResponse, Task> Text(int status, string body) =>
        Bytes(status, Encoding.UTF8.GetBytes(body.Replace("\"ID\"", $"\"{_payment.Id}\"", StringComparison.Ordinal)));

    private static Func<HttpResponse, Task> Bytes(int status, byte[] body) => async response =>
    {
        response.StatusCode = status;
        if (status != 204)
            await response.Body.WriteAsync(body);
    };

    private static byte[] Zipped(byte[] body)
    {
        using var zipped = new MemoryStream();
        using (var zip = new GZipStream(zipped, CompressionLevel.Optimal))
            zip.Write(body);
        return zipped.ToArray();
    }
}
