using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>
/// What a load goes to: a side of its own, or what URL= names, with its limits if they are asked for.
/// </summary>
/// <param name="Meter">Null where nothing is measured.</param>
/// <param name="EnvironmentFile">Its pids tell whose CPU and memory to measure; empty measures none.</param>
internal sealed record LoadTarget(
    string Url, SystemSettings Settings, PartMeter? Meter, string EnvironmentFile, IAsyncDisposable? Side)
    : IAsyncDisposable
{
    public static async Task<LoadTarget> StartAsync(
        SideKind kind, SystemSettings settings, string folder, TextWriter log, CancellationToken cancellation)
    {
        if (kind == SideKind.Gateway && settings["URL"] is { } url)
        {
            var file = settings["SYSTEM_ENV"] ?? "";
            if (settings.Limits && !File.Exists(file))
                throw new ToolException("LIMITS=1 needs the pids: SYSTEM_ENV=…/system.env of the system at URL");
            var meter = settings.Limits ? new PartMeter(PartMeter.PidsIn(file), limited: true) : null;
            return new LoadTarget(url, settings, meter, file, null);
        }

        if (kind == SideKind.Gateway)
            await Publishing.PrepareAsync(settings, cancellation);
        // The load purges where it pays, in the durable profile too: the ledger is its own.
        var own = FreePorts.Added(settings.With(
            ("RUN_DIR", Path.Combine(folder, "run")), ("Gateway__Admin__Purge", "Everyone")));
        var side = await Measuring.Side.StartAsync(kind, own, log, cancellation);
        return new LoadTarget(own.Url, own, side.Meter, side.EnvironmentFile, side);
    }

    public async ValueTask DisposeAsync()
    {
        if (Side is not null)
            await Side.DisposeAsync();
        else
            Meter?.Dispose();
    }
}
