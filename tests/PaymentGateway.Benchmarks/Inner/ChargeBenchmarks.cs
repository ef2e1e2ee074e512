using System.Net;
using BenchmarkDotNet.Attributes;
using Microsoft.Extensions.Logging.Abstractions;
using PaymentGateway.Charging;
using PaymentGateway.Hosting.Configuration;
using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Leasing;
using PaymentGateway.Storage;

namespace PaymentGateway.Benchmarks.Inner;

/// <summary>
/// One charge from payment to outcome through time limit and breaker, without sockets: the body goes nowhere, and the
/// answer comes from memory.
/// Subtract the benchmark of the fake answer alone: request and answer allocate, too.
/// </summary>
public class ChargeBenchmarks : IDisposable
{
    private static readonly DateTime Noon = new(2025, 7, 15, 12, 0, 0, DateTimeKind.Utc);

    private readonly Payment _payment = new(Guid.NewGuid(), 1990, Noon, 1);

    private readonly HttpMessageInvoker _fake = new(new AnswerFromMemory());
    private ProcessorClient _client = null!;

    [GlobalSetup]
    public void Connect()
    {
        var options = MetricBenchmarks.ReadOptions();
        var clock = TimeProvider.System;
        var lease = new Lease(
            new LeasingOptions(TimeSpan.FromDays(1), TimeSpan.FromSeconds(1)), options.Intake, new DoubtNotes(clock),
            clock);
        lease.Begin(_payment.Epoch, LedgerState.Unknown, default, clock.GetTimestamp());
        _client = new ProcessorClient(
            options.Processors.All[0], options, new AnswerFromMemory(), lease, new GatewayMetrics(options),
            clock,
            NullLogger<ProcessorClient>.Instance);
        options.Processors.All[0].Processor.Id = 1;
        _payment.Charge(options.Processors.All[0].Processor, _payment.AcceptedAt);
    }

    [Benchmark]
    public async Task<bool> Charge() => (await _client.ChargeAsync(_payment)).Result == ChargeResult.Settled;

    [Benchmark]
    public async Task<int> FakeAnswerAlone()
    {
        using var call = new HttpRequestMessage();
        using var answer = await _fake.SendAsync(call, CancellationToken.None);
        return (int)answer.StatusCode;
    }

    [GlobalCleanup]
    public void Dispose()
    {
        _client.Dispose();
        _fake.Dispose();
        GC.SuppressFinalize(this);
    }

    /// <summary>The contract's answer to a charge.</summary>
    private sealed class AnswerFromMemory : HttpMessageHandler
    {
        private static readonly byte[] Body = "{\"message\":\"payment processed successfully\"}"u8.ToArray();

        protected override async Task<HttpResponseMessage> SendAsync(
            HttpRequestMessage request, CancellationToken cancellationToken)
        {
            if (request.Content is { } content)
                await content.CopyToAsync(Stream.Null, cancellationToken);
            return new HttpResponseMessage(HttpStatusCode.OK) { Content = new ByteArrayContent(Body) };
        }
    }
}
