namespace PaymentGateway.Tests.Charging;

public sealed class ProcessorAnswerTests
{
    private const int AnswerBytesMax = 4096;

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"message\":\"x\"}", "Settled")]
    [InlineData(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nf\r\n{\"message\":\"x\"}\r\n0\r\n\r\n", "Settled")]
    // A byte order mark, as it comes before JSON of some platforms.
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n\u00EF\u00BB\u00BF{\"message\":\"x\"}", "Settled")]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"Message\":\"x\"}", "Settled")]
    [InlineData("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n", "Refused")]
    [InlineData("HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "Refused")]
    [InlineData("HTTP/1.1 500 Oops\r\nContent-Length: 1\r\n\r\n{", "Unclear")]
    public Task A_complete_answer_is_judged_by_its_status_and_body(string answer, string result) =>
        ComesToAsync(answer, closes: false, result);

    [Theory]
    [InlineData("")]
    [InlineData("HTTP/1.1 2")]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Le")]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n")]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"message\"")]
    [InlineData("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nf\r\n{\"mess")]
    [InlineData("HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\n")]
    [InlineData("HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n")]
    [InlineData("SSH-2.0-OpenSSH\r\n\r\n")]
    public Task A_partial_answer_leaves_the_charge_in_doubt(string answer) =>
        ComesToAsync(answer, closes: true, "Unclear");

    [Theory]
    [InlineData(AnswerBytesMax, "Settled")]
    [InlineData(AnswerBytesMax + 1, "Unclear")]
    [InlineData(1 << 20, "Unclear")]
    public Task An_answer_of_more_than_4_KB_leaves_the_charge_in_doubt(int bytes, string result)
    {
        var body = $"{{\"message\":\"{new string('x', bytes - "{\"message\":\"\"}".Length)}\"}}";
        return ComesToAsync($"HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n{body}", closes: false, result);
    }

    [Fact]
    public Task An_answer_without_an_end_leaves_the_charge_in_doubt() => ComesToAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 9999999999\r\n\r\n" + new string(' ', AnswerBytesMax), closes: false,
        "Unclear");

    // A processor that is taken over could send a charge to whatever the gateway can reach.
    [Theory]
    [InlineData(301)]
    [InlineData(302)]
    [InlineData(307)]
    [InlineData(308)]
    public async Task A_redirection_leaves_the_charge_in_doubt_and_nothing_goes_where_it_points(int status)
    {
        using var elsewhere = new TcpListener(IPAddress.Loopback, 0);
        elsewhere.Start();

        await ComesToAsync(
            $"HTTP/1.1 {status} Moved\r\nLocation: http://{elsewhere.LocalEndpoint}/payments\r\n"
            + "Content-Length: 0\r\n\r\n",
            closes: false, "Unclear");

        Assert.False(elsewhere.Pending());
    }

    private static async Task ComesToAsync(string answer, bool closes, string result)
    {
        using var listener = new TcpListener(IPAddress.Loopback, 0);
        listener.Start();
        var judged = new TaskCompletionSource();
        // Nothing else ends the connection before the garbage collector does.
        var serving = AnswerAsync(listener, answer, closes ? Task.CompletedTask : judged.Task);
        var url = new Uri($"http://{listener.LocalEndpoint}");
        // The time limit of the call never falls due: the bytes alone decide its outcome.
        await using (var lanes = Stages.BuildLanes(url, url, new FakeTimeProvider()))
        {
            var outcome = await lanes.Default.Client.ChargeAsync(Batches.NewCharge()).AsTask().WaitAsync(Limit);

            Assert.Equal(result, outcome.Result.ToString());
        }

        judged.SetResult();
        await serving.WaitAsync(Limit);
    }

    // Answers one call only, so that a repeated charge would never end.
    private static async Task AnswerAsync(TcpListener listener, string answer, Task judged)
    {
        using var client = await listener.AcceptTcpClientAsync();
        var (stream, heard, buffer) = (client.GetStream(), new List<byte>(), new byte[4096]);
        // A charge's body ends with the only closing brace.
        while (!heard.Contains((byte)'}'))
        {
            var length = await stream.ReadAsync(buffer);
            Assert.NotEqual(0, length);
            heard.AddRange(buffer[..length]);
        }

        try
        {
            await stream.WriteAsync(Encoding.Latin1.GetBytes(answer));
            await judged;
        }
        catch (IOException)
        {
            // The gateway closed first.
        }
    }
}
