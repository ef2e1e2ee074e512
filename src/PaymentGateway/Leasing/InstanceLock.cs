using System.Security.Cryptography;

namespace PaymentGateway.Leasing;

/// <summary>
/// A file lock beside the Unix socket, held for the life of the process. The kernel drops it when the process ends, so
/// its holder knows that no earlier process of this instance is still sending.
/// </summary>
internal sealed class InstanceLock : IDisposable
{
    public const string UnixScheme = "http://unix:";

    private const string BootId = "/proc/sys/kernel/random/boot_id";

    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    private readonly List<FileStream> _files = [];
    private readonly bool _isProof;

    private InstanceLock(string identity, bool isProof) => (Identity, _isProof) = (identity, isProof);

    /// <summary>Host, socket, boot and lock file; without a socket: host and instance name.</summary>
    public string Identity { get; private set; }

    /// <summary>The identity whose earlier processes are proven to have terminated; empty where none is.</summary>
    public string ProvenTerminated => _isProof ? Identity : "";

    /// <summary>Takes the locks of the sockets, those of the operator too, and removes stale sockets.</summary>
    /// <exception cref="ConfigurationException">A running process has a socket, or a lock cannot be taken.</exception>
    public static InstanceLock Take(string? urls, string instanceName, IReadOnlyList<BindingAddress>? admin = null)
    {
        var socket = urls?.Split(';')
            .FirstOrDefault(url => url.StartsWith(UnixScheme, StringComparison.OrdinalIgnoreCase))?
            [UnixScheme.Length..];
        // The identity has the id of the boot, because two hosts may have one name, and a lock proves nothing about the
        // other host. A container has its host's id, so a recreated one is the same instance.
        var instance = socket is null
            ? new InstanceLock($"{Environment.MachineName}/{instanceName}", isProof: false)
            : new InstanceLock(
                $"{Environment.MachineName}{socket}@{File.ReadAllText(BootId).Trim()}", isProof: true);
        if (socket is not null)
            instance.Identity += "/" + instance.TakeSocket("ASPNETCORE_URLS", socket);
        foreach (var address in admin ?? [])
            if (address.IsUnixPipe)
                instance.TakeSocket("Gateway__Admin__Urls", address.UnixPipePath);
        return instance;
    }

    public void Dispose() => _files.ForEach(file => file.Dispose());

    /// <returns>The id of the lock file.</returns>
    private string TakeSocket(string setting, string socket)
    {
        try
        {
            // FileShare.None is an flock on Unix. Its owner alone may open the file; otherwise any local user could
            // hold the lock, and the next start would be refused.
            var file = new FileStream(socket + ".lock", new FileStreamOptions
            {
                Mode = FileMode.OpenOrCreate,
                Access = FileAccess.ReadWrite,
                Share = FileShare.None,
                UnixCreateMode = OwnerOnly,
            });
            _files.Add(file);
            // Kestrel does not remove a stale socket file and fails with 'address already in use'.
            File.Delete(socket);
            return IdOf(file);
        }
        catch (Exception failed) when (failed is IOException or UnauthorizedAccessException)
        {
            Dispose();
            throw new ConfigurationException(setting, $"cannot take the socket {socket}: {failed.Message}");
        }
    }

    // The first holder writes the id, because two containers on a host may use one path for two files.
    private static string IdOf(FileStream file)
    {
        var id = new byte[16];
        if (file.ReadAtLeast(id, id.Length, throwOnEndOfStream: false) < id.Length)
        {
            RandomNumberGenerator.Fill(id);
            file.Position = 0;
            file.Write(id);
            file.Flush();
        }

        return Convert.ToHexString(id);
    }
}
