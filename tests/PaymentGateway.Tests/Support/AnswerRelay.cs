using System.Net.Sockets;

namespace PaymentGateway.Tests.Support;

/// <summary>Stands between clients and PostgreSQL, and holds the server's answers back while a test wants.</summary>
internal sealed class AnswerRelay : IAsyncDisposable
{
    private const string SocketName = ".s.PGSQL.5432";

    private readonly DirectoryInfo directory = Directory.CreateTempSubdirectory("relay");
    private readonly CancellationTokenSource over = new();
    private readonly Socket listener = NewSocket();
    private readonly string server;
    private readonly Task accepting;
    private readonly List<Task> copying = [];
    private TaskCompletionSource open = new();
    private TaskCompletionSource held = new();

    private AnswerRelay(PostgresServer server)
    {
        this.server = Path.Combine(server.Directory, SocketName);
        open.SetResult();
        listener.Bind(new UnixDomainSocketEndPoint(Path.Combine(directory.FullName, SocketName)));
        listener.Listen();
        accepting = AcceptAsync();
    }

    /// <summary>What a connection string names as the host to come this way.</summary>
    public string Host => directory.FullName;

    /// <summary>Ends when the server has answered something that is held back.</summary>
    public Task Held => held.Task;

    public static AnswerRelay To(PostgresServer server) => new(server);

    /// <summary>Holds back whatever the server says from now on.</summary>
    public void Hold() => (open, held) = (new TaskCompletionSource(), new TaskCompletionSource());

    /// <summary>Lets it through.</summary>
    public void Release() => open.SetResult();

    public async ValueTask DisposeAsync()
    {
        open.TrySetResult();
        await over.CancelAsync();
        await accepting;
        await Task.WhenAll(copying);
        listener.Dispose();
        over.Dispose();
        directory.Delete(recursive: true);
    }

    private static Socket NewSocket() => new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                var client = await listener.AcceptAsync(over.Token);
                var backend = NewSocket();
                await backend.ConnectAsync(new UnixDomainSocketEndPoint(server), over.Token);
                copying.Add(CopyAsync(client, backend, answers: false));
                copying.Add(CopyAsync(backend, client, answers: true));
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
            while (await from.ReceiveAsync(buffer, over.Token) is > 0 and var length)
            {
                if (answers && !open.Task.IsCompleted)
                {
                    held.TrySetResult();
                    await open.Task;
                }

                await to.SendAsync(buffer.AsMemory(0, length), over.Token);
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
