namespace PaymentGateway.Tools.Measuring;

/// <summary>A running system of one's own and its CPU, until it is disposed.</summary>
internal sealed class Side : IAsyncDisposable
{
    private readonly string _folder;
    private readonly bool _limited;
    private PartMeter? _meter;

    private Side(SystemSettings settings, TextWriter log)
    {
        _folder = settings.RunDirectory;
        System = new NativeSystem(settings, log);
        (Url, _limited) = (new Uri(settings.Url), settings.Limits);
    }

    public NativeSystem System { get; }

    public Uri Url { get; }

    /// <summary>key=value lines, for other programs.</summary>
    public string EnvironmentFile => System.EnvironmentFile;

    /// <summary>Ready for payments and, with LIMITS=1, limited.</summary>
    public static async Task<Side> StartAsync(
        SideKind kind, SystemSettings settings, TextWriter log, CancellationToken cancellation)
    {
        var side = Of(kind, settings, log);
        try
        {
            await side.StartAsync(kind, cancellation);
            return side;
        }
        catch
        {
            await side.DisposeAsync();
            throw;
        }
    }

    /// <summary>With nothing running yet: the caller starts the database, and does something before the rest.</summary>
    public static Side Of(SideKind kind, SystemSettings settings, TextWriter log)
    {
        return new Side(settings, log);
    }

    public PartMeter Meter => _meter ?? throw new InvalidOperationException("Nothing runs that could be measured.");

    public CpuUse Cpu() => Meter.Cpu();

    public async ValueTask DisposeAsync()
    {
        await System.DownAsync();
        // A measurement's data may be gigabytes; the logs stay.
        if (Directory.Exists(_folder))
            foreach (var data in Directory.GetDirectories(_folder, "postgres-*"))
                Directory.Delete(data, recursive: true);
    }

    private async Task StartAsync(SideKind kind, CancellationToken cancellation)
    {
        await (kind switch
        {
            SideKind.Gateway => System.UpAsync(cancellation),
            SideKind.Stub => System.StartAsync([.. PartNames.Instances, PartNames.Nginx], cancellation),
            _ => System.StartAsync([PartNames.Nginx], cancellation),
        });
        _meter = new PartMeter(PartMeter.PidsIn(EnvironmentFile), _limited);
    }
}

/// <summary>What a side is: the gateway as it is set, or something cheaper in its place, to compare it with.</summary>
public enum SideKind
{
    Gateway,

    /// <summary>Stands where the instances do, behind the same nginx; no storage and no processors.</summary>
    Stub,

    /// <summary>nginx answers by itself.</summary>
    NginxAlone,
}
