namespace PaymentGateway.Tests.Support;

/// <summary>A real nginx with the files of the repository, changed as an operator changes them.</summary>
internal sealed class OwnNginx : IAsyncDisposable
{
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("payment-gateway-tests.");
    private Process? _process;

    private OwnNginx()
    {
    }

    public string Folder => _folder.FullName;

    public int Port { get; } = int.Parse(GatewaySystemSettings.FreePort(), CultureInfo.InvariantCulture);

    public static OwnNginx Prepare() => new();

    public string SocketOf(string instance) =>
        Path.Combine(_folder.CreateSubdirectory("sockets").FullName, $"{instance}.sock");

    /// <summary>Puts a file of nginx/ beside nginx.conf.</summary>
    /// <param name="changes">Old texts, which must be in the file, and new ones.</param>
    public void Write(string file, params (string Old, string New)[] changes) => Write(file, file, changes);

    /// <summary>Starts it, once all files are written, with the upstreams of one machine.</summary>
    public Task StartAsync(GatewayHost gateway)
    {
        File.CreateSymbolicLink(SocketOf(GatewaySystem.First), gateway.Socket);
        return StartAsync("one-machine.conf");
    }

    /// <summary>Starts it, once all other files are written, with these upstreams.</summary>
    public async Task StartAsync(string upstreams, params (string Old, string New)[] changes)
    {
        Write(Path.Combine("upstreams", upstreams), "upstreams.conf", changes);
        _process = Process.Start(new ProcessStartInfo(
            "nginx",
            [
                "-p", Folder + "/", "-c", "nginx.conf", "-e", "stderr",
                // Otherwise its worker may not enter a folder of root, who may run the tests.
                "-g", "daemon off; user root;",
            ])
        {
            WorkingDirectory = Folder,
        });
        await Eventually.HoldsAsync(ListensAsync, "nginx listens");
    }

    public async ValueTask DisposeAsync()
    {
        if (_process is not null)
        {
            // TERM, so that its worker ends too.
            Posix.Send(_process.Id, Signal.Terminate);
            await _process.WaitForExitAsync().WaitAsync(Limit);
            _process.Dispose();
        }

        _folder.Delete(recursive: true);
    }

    private void Write(string source, string file, (string Old, string New)[] changes)
    {
        var text = File.ReadAllText(Repository.PathOf("nginx", source));
        foreach (var (old, changed) in changes)
        {
            Assert.Contains(old, text, StringComparison.Ordinal);
            text = text.Replace(old, changed, StringComparison.Ordinal);
        }

        File.WriteAllText(Path.Combine(Folder, file), text);
    }

    private async Task<bool> ListensAsync()
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            await socket.ConnectAsync(IPAddress.Loopback, Port);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
