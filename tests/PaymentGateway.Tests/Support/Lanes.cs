using PaymentGateway.Processors;

namespace PaymentGateway.Tests.Support;

/// <summary>Both lanes as the gateway builds them, without the rest of it.</summary>
internal sealed class Lanes : IDisposable
{
    private readonly GatewayMetrics _metrics;

    private Lanes(GatewayOptions options, TimeProvider clock)
    {
        _metrics = new GatewayMetrics(options);
        Lease = new Lease(clock, options.Leasing);
        Lease.Confirm(current: 1, askedAt: clock.GetTimestamp() + clock.TicksOf(TimeSpan.FromDays(1)));
        Both = new ProcessorLanes(options, Lease, _metrics, clock, Log);
    }

    public ProcessorLanes Both { get; }

    public ProcessorLane Default => Both.Default;

    public ProcessorLane Fallback => Both.Fallback;

    public LogLines<ProcessorClient> Log { get; } = new();

    /// <summary>Of the payments' epoch, and held until a test ends it.</summary>
    public Lease Lease { get; }

    public static Lanes Build(
        Uri defaultUrl, Uri fallbackUrl, TimeProvider clock, params (string Key, string? Value)[] settings) =>
        new(
            TestSettings.Read(
            [
                ("Gateway:Processors:Default:BaseUrl", defaultUrl.AbsoluteUri),
                ("Gateway:Processors:Fallback:BaseUrl", fallbackUrl.AbsoluteUri), .. settings,
            ]),
            clock);

    /// <summary>A payment whose charge would be sent now.</summary>
    public static Payment NewPayment(long cents = 1990) => new(Guid.NewGuid(), cents, Batches.Noon, 1)
    {
        RequestedAt = Batches.Noon.AddMicroseconds(123_456),
    };

    public void Dispose()
    {
        Both.Dispose();
        _metrics.Dispose();
    }
}
