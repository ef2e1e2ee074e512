namespace PaymentGateway.Hosting.Http;

/// <summary>
/// Connects to whichever address of a name answers first: each next address is tried 250 ms after the one before it, or
/// at once when that one fails, and the earlier tries go on (RFC 8305). .NET tries one address after the other, so a
/// first address that swallows connections would use up the whole time limit. Safe from any thread.
/// </summary>
internal static class AddressRace
{
    private static readonly TimeSpan NextAfter = TimeSpan.FromMilliseconds(250);

    /// <param name="addresses">At least one.</param>
    /// <param name="port">The same at all addresses.</param>
    /// <param name="end">The caller's time limit; it ends all tries.</param>
    /// <exception cref="SocketException">Every address failed; this is the first one's failure.</exception>
    public static async ValueTask<Stream> ConnectAsync(IPAddress[] addresses, int port, CancellationToken end)
    {
        using var race = CancellationTokenSource.CreateLinkedTokenSource(end);
        var (started, pending, failed) = (0, new List<Task<Socket>>(), new List<Task<Socket>>());
        try
        {
            while (started < addresses.Length || pending.Count > 0)
            {
                if (started < addresses.Length)
                    pending.Add(TryAsync(addresses[started++], port, race.Token));
                var pause = started < addresses.Length ? NextAfter : Timeout.InfiniteTimeSpan;
                var first = await Task.WhenAny(
                    Task.WhenAny(pending), Task.Delay(pause, TimeProvider.System, race.Token));
                end.ThrowIfCancellationRequested();
                if (first is not Task<Task<Socket>> { Result: var ended })
                    continue;

                pending.Remove(ended);
                if (ended.IsCompletedSuccessfully)
                    return new NetworkStream(ended.Result, ownsSocket: true);

                failed.Add(ended);
            }

            await failed[0];
            throw new UnreachableException();
        }
        finally
        {
            await race.CancelAsync();
            foreach (var late in pending)
                _ = CloseAsync(late);
        }
    }

    private static async Task<Socket> TryAsync(IPAddress address, int port, CancellationToken end)
    {
        var socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            await socket.ConnectAsync(address, port, end);
            return socket;
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    private static async Task CloseAsync(Task<Socket> late)
    {
        try
        {
            (await late).Dispose();
        }
        catch (Exception)
        {
            // The try failed or was cancelled, and has closed its socket.
        }
    }
}
