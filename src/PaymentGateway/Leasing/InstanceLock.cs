using PaymentGateway.Configuring;

namespace PaymentGateway.Leasing;

/// <summary>
/// A file lock beside the Unix socket, held for the life of the process. The kernel drops it when the process ends,
/// however that happens: who holds it knows that no earlier process of this instance is still sending.
/// </summary>
internal sealed class InstanceLock : IDisposable
{
    public const string UnixScheme = "http://unix:";

    private const string BootId = "/proc/sys/kernel/random/boot_id";

    private readonly FileStream? _file;

    private InstanceLock(FileStream? file, string identity)
    {
        _file = file;
        Identity = identity;
    }

    /// <summary>Host, its boot and the socket, or the plain instance name where there is no socket to lock.</summary>
    public string Identity { get; }

    /// <summary>Whether earlier processes of this identity are proven to have terminated.</summary>
    public bool IsProof => _file is not null;

    /// <summary>
    /// Takes the lock of the socket that <paramref name="urls"/> names; removes what a dead process left of it.
    /// </summary>
    /// <exception cref="ConfigurationException">A living process has the socket, or it cannot be made.</exception>
    public static InstanceLock Take(string? urls, string instanceName)
    {
        var unix = urls?.Split(';')
            .FirstOrDefault(url => url.StartsWith(UnixScheme, StringComparison.OrdinalIgnoreCase));
        if (unix is null)
            return new InstanceLock(null, $"{Environment.MachineName}/{instanceName}");

        var socket = unix[UnixScheme.Length..];
        try
        {
            // FileShare.None is an flock on Unix.
            var file = new FileStream(socket + ".lock", FileMode.OpenOrCreate, FileAccess.ReadWrite, FileShare.None);
            // Kestrel does not remove a stale socket file and fails with 'address already in use'.
            File.Delete(socket);
            // Two hosts may have one name, and a lock says nothing of the other's processes. A container has its host's
            // boot, so a recreated one is the same instance.
            var boot = File.ReadAllText(BootId).Trim();
            return new InstanceLock(file, $"{Environment.MachineName}{socket}@{boot}");
        }
        catch (Exception failed) when (failed is IOException or UnauthorizedAccessException)
        {
            throw new ConfigurationException("ASPNETCORE_URLS", $"cannot take the socket {socket}: {failed.Message}");
        }
    }

    public void Dispose() => _file?.Dispose();
}
