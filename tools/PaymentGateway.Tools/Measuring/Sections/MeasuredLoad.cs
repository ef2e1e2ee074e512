namespace PaymentGateway.Tools.Measuring.Sections;

/// <summary>A load on a side that is started for it, and the CPU until all that was accepted is settled.</summary>
internal static class MeasuredLoad
{
    /// <param name="bench">The bench.</param>
    /// <param name="name">The side's.</param>
    /// <param name="what">Which measurement waits for a quiet machine.</param>
    /// <param name="payAsync">The load.</param>
    /// <param name="accepted">How many payments of it were.</param>
    /// <param name="cancellation">Ends it.</param>
    /// <returns>What came of the load, and CPU s / 1,000 payments.</returns>
    public static async Task<(TLoad Load, CpuUse Cpu)> RunAsync<TLoad>(
        Bench bench, string name, string what, Func<Side, Task<TLoad>> payAsync, Func<TLoad, int> accepted,
        CancellationToken cancellation)
    {
        await bench.Machine.AwaitAsync(what, cancellation);
        await using var side = await bench.StartAsync(name, cancellation);
        using var client = new GatewayClient(side.System.Settings);
        await Bench.WarmSideAsync(side, cancellation);
        var settles = name is not ("nginx-alone" or "stub");
        var known = settles ? await client.SettledAsync(cancellation) ?? 0 : 0;
        var before = side.Cpu();

        var load = await payAsync(side);
        if (settles)
            await client.AwaitSettledAsync(known + accepted(load), bench.SettleLimit, cancellation);
        return (load, (side.Cpu() - before).Per(accepted(load)));
    }
}
