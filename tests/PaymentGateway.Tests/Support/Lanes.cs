using Microsoft.Extensions.DependencyInjection;
using PaymentGateway.Processors;

namespace PaymentGateway.Tests.Support;

/// <summary>Both lanes as the gateway builds them, without the rest of it.</summary>
internal sealed class Lanes : IAsyncDisposable
{
    private readonly ServiceProvider _services;

    private Lanes(ServiceCollection collection)
    {
        collection.AddSingleton<ILogger<CallGuardHandler>>(Log);
        _services = collection.BuildServiceProvider();
        var lanes = _services.GetRequiredService<ProcessorLanes>();
        (Default, Fallback) = (lanes.Default, lanes.Fallback);
        Lease = _services.GetRequiredService<Lease>();
    }

    public ProcessorLane Default { get; }

    public ProcessorLane Fallback { get; }

    public LogLines<CallGuardHandler> Log { get; } = new();

    /// <summary>Of the payments' epoch, and held until a test ends it.</summary>
    public Lease Lease { get; }

    public static Lanes Build(
        Uri defaultUrl, Uri fallbackUrl, TimeProvider clock, params (string Key, string? Value)[] settings)
    {
        var options = TestSettings.Read(
        [
            ("Gateway:Processors:Default:BaseUrl", defaultUrl.AbsoluteUri),
            ("Gateway:Processors:Fallback:BaseUrl", fallbackUrl.AbsoluteUri), .. settings,
        ]);
        var collection = new ServiceCollection();
        collection.AddSingleton(clock);
        var lease = new Lease(clock, options.Leasing);
        lease.Confirm(current: 1, askedAt: clock.GetTimestamp() + clock.TicksOf(TimeSpan.FromDays(1)));
        collection.AddSingleton(lease);
        collection.AddSingleton<GatewayMetrics>();
        collection.AddSingleton(options);
        collection.AddProcessors(options);
        return new Lanes(collection);
    }

    /// <summary>A payment whose charge would be sent now.</summary>
    public static Payment NewPayment(long cents = 1990) => new(Guid.NewGuid(), cents, Batches.Noon, 1)
    {
        RequestedAt = Batches.Noon.AddMicroseconds(123_456),
    };

    public ValueTask DisposeAsync() => _services.DisposeAsync();
}
