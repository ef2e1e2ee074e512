using System.Net;

namespace PaymentGateway.Tests.Support;

/// <summary>Counts the answers 503 that a client gets, and those that do not say when to come again.</summary>
public sealed class RetryAfterCheck() : DelegatingHandler(new SocketsHttpHandler { UseProxy = false })
{
    private int _refused;
    private int _withoutRetryAfter;

    public int Refused => _refused;

    public int WithoutRetryAfter => _withoutRetryAfter;

    protected override async Task<HttpResponseMessage> SendAsync(
        HttpRequestMessage request, CancellationToken cancellationToken)
    {
        var answer = await base.SendAsync(request, cancellationToken);
        if (answer.StatusCode == HttpStatusCode.ServiceUnavailable)
        {
            Interlocked.Increment(ref _refused);
            if (answer.Headers.RetryAfter is null)
                Interlocked.Increment(ref _withoutRetryAfter);
        }

        return answer;
    }
}
