using System.Net.Sockets;

namespace PaymentGateway.Tests.Support;

/// <summary>Stands between clients and PostgreSQL, and holds the server's answers back while a test wants.</summary>
internal sealed class AnswerRelay : IAsyncDisposable
{
    private const string SocketName = ".s.PGSQL.5432";

    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("relay");
    private readonly CancellationTokenSource _over = new();
    private readonly Socket _listener = NewSocket();
    private readonly string _server;
    private readonly Task _accepting;
    private readonly List<Task> _copying = [];
    private TaskCompletionSource _open = new();
    private TaskCompletionSource _held = new();

    private AnswerRelay(PostgresServer server)
    {
        _server = Path.Combine(server.Directory, SocketName);
        _open.SetResult();
        _listener.Bind(new UnixDomainSocketEndPoint(Path.Combine(_directory.FullName, SocketName)));
        _listener.Listen();
        _accepting = AcceptAsync();
    }

    /// <summary>What a connection string names as the host to come this way.</summary>
    public string Host => _directory.FullName;

    /// <summary>Ends when the server has answered something that is held back.</summary>
    public Task Held => _held.Task;

    public static AnswerRelay To(PostgresServer server) => new(server);

    /// <summary>Holds back whatever the server says from now on.</summary>
    public void Hold() => (_open, _held) = (new TaskCompletionSource(), new TaskCompletionSource());

    /// <summary>Lets it through.</summary>
    public void Release() => _open.SetResult();

    public async ValueTask DisposeAsync()
    {
        _open.TrySetResult();
        await _over.CancelAsync();
        await _accepting;
        await Task.WhenAll(_copying);
        _listener.Dispose();
        _over.Dispose();
        _directory.Delete(recursive: true);
    }

    private static Socket NewSocket() => new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                var client = await _listener.AcceptAsync(_over.Token);
                var backend = NewSocket();
                await backend.ConnectAsync(new UnixDomainSocketEndPoint(_server), _over.Token);
                _copying.Add(CopyAsync(client, backend, answers: false));
                _copying.Add(CopyAsync(backend, client, answers: true));
            }
        }
        catch (OperationCanceledException)
        {
            // The test is over.
        }
    }

    private async Task CopyAsync(Socket from, Socket to, bool answers)
    {
        var buffer = new byte[8192];
        try
        {
            while (await from.ReceiveAsync(buffer, _over.Token) is > 0 and var length)
            {
                if (answers && !_open.Task.IsCompleted)
                {
                    _held.TrySetResult();
                    await _open.Task;
                }

                await to.SendAsync(buffer.AsMemory(0, length), _over.Token);
            }
        }
        catch (Exception ended) when (ended is SocketException or OperationCanceledException or ObjectDisposedException)
        {
            // Either side has closed, or the test is over.
        }

        from.Dispose();
        to.Dispose();
    }
}
