using PaymentGateway.Processors;

namespace PaymentGateway.Tests.Processors;

/// <summary>
/// A call may end with any exception. .NET 8 lets a bare SocketException out when the peer resets a connection that was
/// just made; that moment cannot be arranged, so a handler throws instead of the network.
/// </summary>
public sealed class BrokenCallTests
{
    private readonly FakeTimeProvider _clock = new();

    public static TheoryData<Exception> Failures => new()
    {
        new SocketException((int)SocketError.NotConnected),
        new InvalidOperationException("whatever"),
    };

    [Theory]
    [MemberData(nameof(Failures))]
    public async Task A_look_up_that_breaks_resolves_nothing(Exception failure)
    {
        using var http = new HttpMessageInvoker(new Failing(failure));

        Assert.Equal(LookupResult.Unknown, (await NewClient(http).LookUpAsync(Guid.NewGuid())).Result);
    }

    [Theory]
    [MemberData(nameof(Failures))]
    public async Task A_health_call_that_breaks_reports_nothing(Exception failure)
    {
        using var http = new HttpMessageInvoker(new Failing(failure));

        Assert.Null(await NewClient(http).AskHealthAsync());
    }

    [Theory]
    [MemberData(nameof(Failures))]
    public async Task A_charge_that_breaks_before_its_first_byte_is_refused(Exception failure)
    {
        using var http = new HttpMessageInvoker(new Failing(failure));

        var outcome = await NewClient(http).ChargeAsync(Lanes.NewPayment());

        Assert.Equal(ChargeResult.Refused, outcome.Result);
    }

    private ProcessorClient NewClient(HttpMessageInvoker http)
    {
        var lease = new Lease(_clock, TestSettings.Read().Leasing);
        lease.Confirm(1, _clock.GetTimestamp());
        return new ProcessorClient(http, new Uri("http://processor/"), Processor.Default, lease, _clock);
    }

    private sealed class Failing(Exception failure) : HttpMessageHandler
    {
        protected override Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken) =>
            Task.FromException<HttpResponseMessage>(failure);
    }
}
