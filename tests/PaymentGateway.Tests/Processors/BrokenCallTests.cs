using PaymentGateway.Processors;

namespace PaymentGateway.Tests.Processors;

/// <summary>
/// A call may end with any exception. .NET 8 lets a bare SocketException out when the peer resets a connection that was
/// just made; that moment cannot be arranged, so a handler throws instead of the network.
/// </summary>
public sealed class BrokenCallTests
{
    public static TheoryData<Exception> Failures => new()
    {
        new SocketException((int)SocketError.NotConnected),
        new InvalidOperationException("whatever"),
    };

    [Theory]
    [MemberData(nameof(Failures))]
    public async Task A_look_up_that_breaks_resolves_nothing(Exception failure)
    {
        using var client = NewClient(failure);

        Assert.Equal(LookupResult.Unknown, (await client.LookUpAsync(Guid.NewGuid())).Result);
    }

    [Theory]
    [MemberData(nameof(Failures))]
    public async Task A_health_call_that_breaks_reports_nothing(Exception failure)
    {
        using var client = NewClient(failure);

        Assert.Null(await client.AskHealthAsync());
    }

    [Theory]
    [MemberData(nameof(Failures))]
    public async Task A_charge_that_breaks_before_its_first_byte_is_refused(Exception failure)
    {
        using var client = NewClient(failure);

        Assert.Equal(ChargeResult.Refused, (await client.ChargeAsync(Lanes.NewPayment())).Result);
    }

    private static ProcessorClient NewClient(Exception failure)
    {
        var (clock, options) = (new FakeTimeProvider(), TestSettings.Read());
        return new ProcessorClient(
            Processor.Default, options, new Failing(failure), new ProcessorHealth(clock, options.Routing),
            new Lease(clock, options.Leasing), new GatewayMetrics(options), clock,
            NullLogger<ProcessorClient>.Instance);
    }

    private sealed class Failing(Exception failure) : HttpMessageHandler
    {
        protected override Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken) =>
            Task.FromException<HttpResponseMessage>(failure);
    }
}
