namespace PaymentGateway.Tools;

/// <summary>A file that one process at a time holds; the kernel lets go of it with the process.</summary>
public static class FileLock
{
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(200);

    /// <summary>Held until it is disposed; null when another has it.</summary>
    public static IDisposable? TryTake(string path)
    {
        try
        {
            return new FileStream(path, FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None);
        }
        catch (IOException)
        {
            return null;
        }
    }

    /// <summary>The same, after whoever has it.</summary>
    public static async Task<IDisposable> TakeAsync(string path, CancellationToken cancellation)
    {
        while (true)
        {
            if (TryTake(path) is { } held)
                return held;
            await Task.Delay(PollInterval, cancellation);
        }
    }
}
