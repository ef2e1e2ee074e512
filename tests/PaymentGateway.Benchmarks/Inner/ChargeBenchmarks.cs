using System.Net;
using BenchmarkDotNet.Attributes;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using PaymentGateway.Settling;

namespace PaymentGateway.Benchmarks.Inner;

/// <summary>
/// One charge from payment to outcome through time limit and breaker, without sockets: the answer comes from memory.
/// What request and fake answer themselves allocate is its own benchmark, to be taken off.
/// </summary>
public class ChargeBenchmarks : IDisposable
{
    private static readonly DateTime Noon = new(2025, 7, 15, 12, 0, 0, DateTimeKind.Utc);

    private readonly Payment payment = new(Guid.NewGuid(), 1990, Noon, 1);

    private readonly HttpMessageInvoker fake = new(new AnswerFromMemory());
    private ServiceProvider services = null!;
    private ProcessorClient client = null!;

    [GlobalSetup]
    public void Connect()
    {
        var options = GatewayOptions.Read(new ConfigurationBuilder().AddInMemoryCollection(
        [
            new("ConnectionStrings:Ledger", "Host=/nowhere"),
            new("Gateway:Processors:Default:BaseUrl", "http://processor"),
            new("Gateway:Processors:Fallback:BaseUrl", "http://processor"),
        ]).Build());
        var collection = new ServiceCollection().AddSingleton(TimeProvider.System);
        collection.AddSettling(options);
        collection.AddHttpClient(SettlingSetup.ChargesOf(Processor.Default))
            .ConfigurePrimaryHttpMessageHandler(() => new AnswerFromMemory());
        services = collection.BuildServiceProvider();
        client = services.GetRequiredService<ProcessorLanes>().Default.Client;
        payment.RequestedAt = payment.AcceptedAt;
    }

    [Benchmark]
    public async Task<bool> Charge() => (await client.ChargeAsync(payment)).Result == ChargeResult.Settled;

    [Benchmark]
    public async Task<int> FakeAnswerAlone()
    {
        using var call = new HttpRequestMessage();
        using var answer = await fake.SendAsync(call, CancellationToken.None);
        return (int)answer.StatusCode;
    }

    [GlobalCleanup]
    public void Dispose()
    {
        services.Dispose();
        fake.Dispose();
        GC.SuppressFinalize(this);
    }

    /// <summary>The contract's answer to a charge.</summary>
    private sealed class AnswerFromMemory : HttpMessageHandler
    {
        private static readonly byte[] Body = "{\"message\":\"payment processed successfully\"}"u8.ToArray();

        protected override Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken) =>
            Task.FromResult(new HttpResponseMessage(HttpStatusCode.OK) { Content = new ByteArrayContent(Body) });
    }
}
