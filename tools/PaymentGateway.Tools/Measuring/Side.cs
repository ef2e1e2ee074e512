using System.Globalization;
using PaymentGateway.Tools.Limiting;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring;

/// <summary>A running system of one's own with its limits and its CPU, until it is disposed.</summary>
internal sealed class Side : IAsyncDisposable
{
    private readonly string _folder;
    private readonly TextWriter _log;
    private NginxAlone? _nginx;
    private PartMeter? _meter;

    private Side(SystemSettings settings, TextWriter log)
    {
        _folder = settings.RunDirectory;
        _log = log;
        System = new NativeSystem(settings, log);
        (Url, Limited) = (new Uri(settings.Url), settings.Limits);
    }

    public NativeSystem System { get; }

    public Uri Url { get; }

    /// <summary>key=value lines, for other programs.</summary>
    public string EnvironmentFile => System.EnvironmentFile;

    private bool Limited { get; }

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
        // Before anything starts: the runtime reads it then.
        if (settings.Limits)
            settings = settings.With(("HEAP_LIMIT", ComposeSplit.HeapLimit()));
        if (kind == SideKind.Stub)
            settings = settings.With(("GATEWAY_BIN", TestPrograms.Stub(settings)));
        return new Side(settings, log);
    }

    public PartMeter Meter => _meter ?? throw new InvalidOperationException("Nothing runs that could be measured.");

    public CpuUse Cpu() => Meter.Cpu();

    public async ValueTask DisposeAsync()
    {
        if (_nginx is not null)
            await _nginx.DisposeAsync();
        await System.DownAsync();
        _meter?.Dispose();
        // A measurement's data may be gigabytes; the logs stay.
        if (Directory.Exists(_folder))
            foreach (var data in Directory.GetDirectories(_folder, "postgres-*"))
                Directory.Delete(data, recursive: true);
    }

    private async Task StartAsync(SideKind kind, CancellationToken cancellation)
    {
        switch (kind)
        {
            case SideKind.Gateway:
                await System.UpAsync(cancellation);
                break;
            case SideKind.Stub:
                await System.StartAsync([.. PartNames.Instances, PartNames.Nginx], cancellation);
                break;
            default:
                _nginx = await NginxAlone.StartAsync(_folder, Url.Port, _log, cancellation);
                var line = string.Create(CultureInfo.InvariantCulture, $"{PartNames.Nginx}_pid={_nginx.Pid}\n");
                await File.WriteAllTextAsync(EnvironmentFile, $"url={Url}\n{line}", cancellation);
                break;
        }

        Measure(PartMeter.PidsIn(EnvironmentFile));
    }

    private void Measure(IReadOnlyDictionary<string, int> pids)
    {
        _meter = new PartMeter(pids, Limited);
        foreach (var line in _meter.Limits)
            _log.WriteLine(line);
    }
}
