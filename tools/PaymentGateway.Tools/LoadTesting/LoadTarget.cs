using PaymentGateway.Tools.Measuring;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>
/// What a load goes to: a side of its own, or what URL= names, with its limits if they are asked for.
/// </summary>
internal sealed class LoadTarget : IAsyncDisposable
{
    private readonly Side? _side;
    private readonly PartMeter? _meter;

    private LoadTarget(Side side)
    {
        _side = side;
        var settings = side.System.Settings;
        (Url, DefaultUrl, FallbackUrl) = (settings.Url, settings.DefaultUrl, settings.FallbackUrl);
        (EnvironmentFile, CpuFiles) = (side.EnvironmentFile, side.Meter.CpuFiles);
    }

    private LoadTarget(SystemSettings settings)
    {
        Url = settings["URL"]!;
        (DefaultUrl, FallbackUrl) = (settings.DefaultUrl, settings.FallbackUrl);
        EnvironmentFile = settings["SYSTEM_ENV"] ?? "";
        if (settings.Limits && !File.Exists(EnvironmentFile))
            throw new ToolException("LIMITS=1 needs the pids: SYSTEM_ENV=…/system.env of the system at URL");
        if (settings.Limits)
            _meter = new PartMeter(PartMeter.PidsIn(EnvironmentFile), limited: true);
        CpuFiles = _meter?.CpuFiles ?? "";
    }

    public string Url { get; }

    public string DefaultUrl { get; }

    public string FallbackUrl { get; }

    /// <summary>Its pids tell whose CPU and memory to measure; empty measures none.</summary>
    public string EnvironmentFile { get; }

    public string CpuFiles { get; }

    public static async Task<LoadTarget> StartAsync(
        SideKind kind, SystemSettings settings, string folder, TextWriter log, CancellationToken cancellation)
    {
        if (kind == SideKind.Gateway && settings["URL"] is not null)
            return new LoadTarget(settings);

        if (kind == SideKind.Gateway)
            await Publishing.PrepareAsync(settings, cancellation);
        var own = FreePorts.Added(settings.With(("RUN_DIR", Path.Combine(folder, "run"))));
        return new LoadTarget(await Side.StartAsync(kind, own, log, cancellation));
    }

    public async ValueTask DisposeAsync()
    {
        _meter?.Dispose();
        if (_side is not null)
            await _side.DisposeAsync();
    }
}
