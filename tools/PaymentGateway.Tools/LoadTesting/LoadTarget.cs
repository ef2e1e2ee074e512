using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>The system that a load pays to: one that it starts itself, or the one at the address in URL=.</summary>
/// <param name="Meter">Of the parts whose pids are known, which may be none.</param>
/// <param name="NginxTimes">The times of all requests, in the log of its own nginx.</param>
internal sealed record LoadTarget(
    string Url, SystemSettings Settings, PartMeter Meter, string? NginxTimes, IAsyncDisposable? Side) : IAsyncDisposable
{
    public static async Task<LoadTarget> StartAsync(
        SideKind kind, SystemSettings settings, string folder, TextWriter log, CancellationToken cancellation)
    {
        if (kind == SideKind.Gateway && settings["URL"] is { } url)
        {
            var file = settings["SYSTEM_ENV"] ?? "";
            if (settings.Limits && !File.Exists(file))
                throw new ToolException("LIMITS=1 needs the pids: SYSTEM_ENV=…/system.env of the system at URL");
            var meter = new PartMeter(File.Exists(file) ? PartMeter.PidsIn(file) : [], settings.Limits);
            return new LoadTarget(url, settings, meter, NginxTimes: null, Side: null);
        }

        if (kind == SideKind.Gateway)
            await Publishing.PrepareAsync(settings, cancellation);
        // The load purges where it pays, in the durable profile too: the ledger is its own.
        var times = Path.Combine(folder, "nginx-times.log");
        var own = FreePorts.Added(settings.With(
            ("RUN_DIR", Path.Combine(folder, "run")), ("Gateway__Admin__Purge", "Everyone"), ("NGINX_TIMES", times)));
        var side = await Measuring.Side.StartAsync(kind, own, log, cancellation);
        return new LoadTarget(own.Url, own, side.Meter, times, side);
    }

    public async ValueTask DisposeAsync()
    {
        if (Side is not null)
            await Side.DisposeAsync();
    }
}
