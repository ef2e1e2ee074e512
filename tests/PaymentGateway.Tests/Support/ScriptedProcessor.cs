namespace PaymentGateway.Tests.Support;

/// <summary>Answers every request with the same bytes and then closes or leaves the connection open.</summary>
public sealed class ScriptedProcessor : IDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly byte[] _answer;
    private readonly bool _closes;

    public ScriptedProcessor(string answer, bool closes)
    {
        (_answer, _closes) = (Encoding.Latin1.GetBytes(answer), closes);
        _listener.Start();
        _ = ServeAsync();
    }

    public Uri BaseAddress => new($"http://{_listener.LocalEndpoint}");

    public void Dispose() => _listener.Dispose();

    private async Task ServeAsync()
    {
        try
        {
            while (await _listener.AcceptTcpClientAsync() is var client)
                _ = AnswerAsync(client);
        }
        catch (Exception over) when (over is SocketException or ObjectDisposedException)
        {
            // Disposed.
        }
    }

    private async Task AnswerAsync(TcpClient client)
    {
        using var owned = client;
        var buffer = new byte[4096];
        try
        {
            // A charge's body ends with the only closing brace.
            var length = 0;
            while (!buffer.AsSpan(0, length).Contains((byte)'}'))
            {
                if (await client.GetStream().ReadAsync(buffer.AsMemory(length)) is not (> 0 and var more))
                    return;
                length += more;
            }

            await client.GetStream().WriteAsync(_answer);
            if (!_closes)
                _ = await client.GetStream().ReadAsync(buffer);
        }
        catch (IOException)
        {
            // The gateway closed first.
        }
    }
}
