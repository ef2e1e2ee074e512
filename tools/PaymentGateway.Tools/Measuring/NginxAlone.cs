using System.Net.Sockets;
using CliWrap;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring;

/// <summary>nginx with its own configuration, but for the port and that it answers by itself.</summary>
internal sealed class NginxAlone : IAsyncDisposable
{
    private const string Passes = "proxy_pass http://gateway;";
    private static readonly TimeSpan ReadyLimit = TimeSpan.FromSeconds(10);
    private readonly CancellationTokenSource _stop = new();
    private readonly CommandTask<CommandResult> _process;

    private NginxAlone(string folder, TextWriter log) => _process = Cli
        .Wrap(Programs.Find("nginx") ?? throw new ToolException("nginx is missing: eng/setup"))
        .WithArguments(["-p", folder + "/", "-c", "nginx.conf", "-e", "stderr", "-g", "daemon off;"])
        .WithWorkingDirectory(folder)
        .WithValidation(CommandResultValidation.None)
        .WithStandardOutputPipe(PipeTarget.ToDelegate(log.WriteLine))
        .WithStandardErrorPipe(PipeTarget.ToDelegate(log.WriteLine))
        .ExecuteAsync(CancellationToken.None, _stop.Token);

    public int Pid => _process.ProcessId;

    public static async Task<NginxAlone> StartAsync(
        string folder, int port, TextWriter log, CancellationToken cancellation)
    {
        var text = await File.ReadAllTextAsync(Repository.PathOf("nginx", "nginx.conf"), cancellation);
        if (!text.Contains(Passes, StringComparison.Ordinal))
            throw new ToolException($"nginx/nginx.conf has no `{Passes}` to replace");

        Directory.CreateDirectory(folder);
        await File.WriteAllTextAsync(
            Path.Combine(folder, "nginx.conf"),
            text.Replace("listen 9999", "listen " + Figure.Of(port), StringComparison.Ordinal)
                .Replace(Passes, "return 202;", StringComparison.Ordinal),
            cancellation);
        File.Copy(NginxPart.Upstreams, Path.Combine(folder, "upstreams.conf"), overwrite: true);
        var nginx = new NginxAlone(folder, log);
        try
        {
            await nginx.AwaitReadyAsync(port, cancellation);
            return nginx;
        }
        catch
        {
            await nginx.DisposeAsync();
            throw;
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        try
        {
            await _process;
        }
        catch (OperationCanceledException)
        {
            // It was told to end, and did.
        }

        _stop.Dispose();
    }

    private async Task AwaitReadyAsync(int port, CancellationToken cancellation)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        limit.CancelAfter(ReadyLimit);
        while (true)
        {
            if (_process.Task.IsCompleted || limit.IsCancellationRequested)
            {
                cancellation.ThrowIfCancellationRequested();
                throw new ToolException("nginx does not start");
            }

            using var connection = new Socket(SocketType.Stream, ProtocolType.Tcp);
            try
            {
                await connection.ConnectAsync("127.0.0.1", port, CancellationToken.None);
                return;
            }
            catch (SocketException)
            {
                await Task.Delay(50, CancellationToken.None);
            }
        }
    }
}
