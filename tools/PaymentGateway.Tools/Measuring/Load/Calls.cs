using System.Globalization;
using System.Net.Http.Headers;
using System.Text;

namespace PaymentGateway.Tools.Measuring.Load;

/// <summary>Makes the requests of a load, one by one.</summary>
public interface ICall
{
    HttpRequestMessage Make();
}

/// <summary>POST /payments with an id of its own.</summary>
internal sealed class PaymentCall : ICall
{
    private static readonly MediaTypeHeaderValue Json = new("application/json");

    public HttpRequestMessage Make()
    {
        var body = Encoding.ASCII.GetBytes($$"""{"correlationId":"{{Guid.NewGuid()}}","amount":19.90}""");
        var content = new ByteArrayContent(body) { Headers = { ContentType = Json } };
        return new HttpRequestMessage(HttpMethod.Post, "payments") { Content = content };
    }
}

/// <summary>Where windows of a summary may lie, in Unix seconds, and how wide they are.</summary>
internal sealed record SummaryWindows(double From, double To, double Seconds);

/// <summary>GET /payments-summary: of everything, or of windows that begin and end within a bucket.</summary>
internal sealed class SummaryCall(SummaryWindows? windows) : ICall
{
    // The same places in every run.
    private readonly Random _places = new(1);

    public HttpRequestMessage Make() => new(HttpMethod.Get, "payments-summary" + Bounds());

    private string Bounds()
    {
        if (windows is not { } within)
            return "";

        var from = within.From + _places.NextDouble() * Math.Max(0, within.To - within.From - within.Seconds);
        return $"?from={Text(from)}&to={Text(from + within.Seconds)}";
    }

    private static string Text(double unixSeconds) => DateTime.UnixEpoch.AddSeconds(unixSeconds)
        .ToString("yyyy-MM-dd'T'HH:mm:ss.fff'Z'", CultureInfo.InvariantCulture);
}
