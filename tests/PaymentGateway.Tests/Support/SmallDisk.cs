namespace PaymentGateway.Tests.Support;

/// <summary>A small tmpfs that holds the tables which grow, and can be filled. Mounting it needs root.</summary>
public sealed class SmallDisk : IAsyncDisposable
{
    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("payment-gateway-disk.");

    private SmallDisk()
    {
    }

    private string Filler => Path.Combine(_directory.FullName, "filler");

    /// <summary>A disk of this size, with nothing on it. It must outlive the system that uses it.</summary>
    public static async Task<SmallDisk> MountAsync(int megabytes)
    {
        var disk = new SmallDisk();
        await RunAsync("mount", "-t", "tmpfs", "-o", $"size={megabytes}m,mode=755", "tmpfs", disk._directory.FullName);
        return disk;
    }

    public async Task TakeAsync(GatewaySystem system)
    {
        var tables = _directory.CreateSubdirectory("tables");
        await RunAsync("chown", "postgres:", tables.FullName);
        await using var connection = await Statements.OpenAsync(
            $"{system.ConnectionString};Username=postgres;Application Name=tests");
        string[] statements =
        [
            $"CREATE TABLESPACE small LOCATION '{tables.FullName}'",
            "ALTER TABLE payments SET TABLESPACE small",
            "ALTER TABLE settlements SET TABLESPACE small",
            "ALTER INDEX payments_pkey SET TABLESPACE small",
            "ALTER INDEX settlements_pkey SET TABLESPACE small",
        ];
        foreach (var statement in statements)
            await connection.ExecuteAsync(statement);
    }

    public void Fill()
    {
        using var file = File.Create(Filler);
        try
        {
            while (true)
            {
                file.Write(new byte[4096]);
                file.Flush();
            }
        }
        catch (IOException)
        {
            // It is full.
        }
    }

    public void Free() => File.Delete(Filler);

    public async ValueTask DisposeAsync()
    {
        await RunAsync("umount", _directory.FullName);
        _directory.Delete(recursive: true);
    }

    private static async Task RunAsync(params string[] command)
    {
        var run = await Shell.RunAsync(command);
        Assert.True(run.Succeeded, $"{string.Join(' ', command)}: {run.Errors}");
    }
}

public sealed class MountedSystemFactAttribute() : NeedsFactAttribute(
    WholeSystem,
    GatewaySystemParts.SkipReason
        ?? (Environment.IsPrivilegedProcess ? null : "lacks root: only root may mount a file system"));
