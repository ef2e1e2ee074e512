using System.Net;
using System.Runtime.CompilerServices;

namespace PaymentGateway.Settling;

/// <summary>
/// Reads each answer whole within its call, so that time limit and circuit breaker, which are outside of it, see the
/// reading too.
/// </summary>
internal sealed class AnswerHandler : DelegatingHandler
{
    // Larger answers are no answers of the contract; what is cut does not parse and is in doubt.
    private const int AnswerBytesMax = 4096;

    /// <summary>The body of an answer that came through here; empty when there was none.</summary>
    public static ReadOnlySpan<byte> AnswerOf(HttpResponseMessage response) => ((Answer)response.Content).Bytes;

    protected override async Task<HttpResponseMessage> SendAsync(
        HttpRequestMessage request, CancellationToken cancellationToken)
    {
        var response = await base.SendAsync(request, cancellationToken);
        try
        {
            using var plain = response.Content;
            response.Content = new Answer(await ReadAsync(plain, cancellationToken));
            return response;
        }
        catch
        {
            response.Dispose();
            throw;
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private static async ValueTask<ReadOnlyMemory<byte>> ReadAsync(HttpContent content, CancellationToken token)
    {
        var told = content.Headers.ContentLength ?? AnswerBytesMax;
        if (told == 0)
            return default;

        // The synchronous call gives the same stream without a task; only its reading waits for the network.
        var stream = content.ReadAsStream(token);
        var answer = new byte[Math.Min(told, AnswerBytesMax)];
        return answer.AsMemory(0, await stream.ReadAtLeastAsync(answer, answer.Length, false, token));
    }

    /// <summary>A body that is read already.</summary>
    private sealed class Answer(ReadOnlyMemory<byte> bytes) : HttpContent
    {
        public ReadOnlySpan<byte> Bytes => bytes.Span;

        protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
            stream.WriteAsync(bytes).AsTask();

        protected override bool TryComputeLength(out long length)
        {
            length = bytes.Length;
            return true;
        }
    }
}
