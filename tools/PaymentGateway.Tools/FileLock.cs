namespace PaymentGateway.Tools;

/// <summary>A file that one process at a time holds; the kernel lets go of it with the process.</summary>
internal static class FileLock
{
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
}
