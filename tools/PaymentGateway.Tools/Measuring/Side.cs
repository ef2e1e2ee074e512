using PaymentGateway.Tools.Limiting;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring;

/// <summary>A running system of one's own with its limits, its CPU and its memory, until it is disposed.</summary>
internal sealed class Side : IAsyncDisposable
{
    private readonly string folder;
    private NginxAlone? nginx;
    private PartLimits? limits;

    private Side(SystemSettings settings, TextWriter log)
    {
        folder = settings.RunDirectory;
        System = new NativeSystem(settings, log);
    }

    public NativeSystem System { get; }

    public Uri Url => new(System.Settings.Url);

    /// <summary>key=value lines, for other programs.</summary>
    public string EnvironmentFile => Path.Combine(folder, "system.env");

    /// <summary>Where CPU time is counted under limits; else nothing.</summary>
    public string CpuFiles => limits?.CpuFiles ?? "";

    private IReadOnlyDictionary<string, int> Pids => nginx is null
        ? System.Pids()
        : new Dictionary<string, int> { [PartNames.Nginx] = nginx.Pid };

    /// <summary>Ready for payments and, with LIMITS=1, limited.</summary>
    public static async Task<Side> StartAsync(
        SideKind kind, SystemSettings settings, TextWriter log, CancellationToken cancellation)
    {
        var side = Of(kind, settings, log);
        try
        {
            switch (kind)
            {
                case SideKind.Gateway:
                    await side.System.UpAsync(cancellation);
                    break;
                case SideKind.Stub:
                    await side.System.StartAsync([.. PartNames.Instances, PartNames.Nginx]);
                    break;
                default:
                    side.nginx = await NginxAlone.StartAsync(side.folder, settings.Port, log, cancellation);
                    await File.WriteAllTextAsync(
                        side.EnvironmentFile, $"url={side.Url}\nnginx_pid={side.nginx.Pid}\n", cancellation);
                    break;
            }

            cancellation.ThrowIfCancellationRequested();
            side.PutUnderLimits();
            return side;
        }
        catch
        {
            await side.DisposeAsync();
            throw;
        }
    }

    /// <summary>With nothing running yet: the caller starts the parts, and calls for the limits when they run.</summary>
    public static Side Of(SideKind kind, SystemSettings settings, TextWriter log)
    {
        // Before anything starts: the runtime reads it then.
        if (settings.Limits)
            settings = settings.With(("HEAP_LIMIT", ComposeSplit.HeapLimit()));
        if (kind == SideKind.Stub)
            settings = settings.With(("GATEWAY_BIN", TestPrograms.Stub(settings)));
        return new Side(settings, log);
    }

    /// <summary>What there is beside the database, which runs already; then the limits.</summary>
    public async Task StartTheRestAsync(CancellationToken cancellation)
    {
        await System.StartAsync([PartNames.Default, PartNames.Fallback, .. PartNames.Instances, PartNames.Nginx]);
        cancellation.ThrowIfCancellationRequested();
        PutUnderLimits();
    }

    private void PutUnderLimits()
    {
        if (System.Settings.Limits)
            limits = PartLimits.Put(Pids);
    }

    /// <summary>By the cgroups where there are limits, else by the processes, ended children included.</summary>
    public CpuUse Cpu()
    {
        var pids = Pids;
        return CpuUse.Of(part => !pids.TryGetValue(part, out var pid) ? 0
            : limits?.CpuMilliseconds(part) ?? PartUse.CpuMs(pid));
    }

    public MemoryUse Memory() => MemoryUse.Of(Pids);

    public async ValueTask DisposeAsync()
    {
        if (nginx is not null)
            await nginx.DisposeAsync();
        await System.DownAsync();
        limits?.Dispose();
        limits = null;
        // A measurement's data may be gigabytes; the logs stay.
        if (Directory.Exists(folder))
            foreach (var data in Directory.GetDirectories(folder, "postgres-*"))
                Directory.Delete(data, recursive: true);
    }
}
