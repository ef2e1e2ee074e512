using System.Buffers;
using BenchmarkDotNet.Attributes;
using PaymentGateway.Accepting;

namespace PaymentGateway.Benchmarks.Inner;

public class ParseBenchmarks
{
    private readonly ReadOnlySequence<byte> _body =
        new("{\"correlationId\":\"4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3\",\"amount\":19.90}"u8.ToArray());

    [Benchmark]
    public long Parse() =>
        PaymentRequest.TryParse(_body, out _, out var cents, out _, out _)
            ? cents
            : throw new InvalidOperationException("The body is right.");
}
