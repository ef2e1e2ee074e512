using System.Text.Json.Serialization;

// The least that can stand in the gateway's place: reads a payment and acknowledges it, keeps nothing. Its latency
// under the official load is what machine, nginx and Kestrel cost; the rest of the gateway's p99 is the gateway's.
var builder = WebApplication.CreateSlimBuilder(args);
builder.Logging.ClearProviders();
builder.Services.ConfigureHttpJsonOptions(
    json => json.SerializerOptions.TypeInfoResolverChain.Insert(0, StubJsonContext.Default));

var app = builder.Build();
app.MapPost("/payments", (Payment payment) => TypedResults.StatusCode(payment.Amount > 0 ? 202 : 400));
app.MapGet("/readyz", () => TypedResults.Ok());
// nginx runs as another user; Kestrel leaves the socket writable for its owner only.
app.Lifetime.ApplicationStarted.Register(() => OpenSockets(app.Urls));
app.Run();

static void OpenSockets(IEnumerable<string> urls)
{
    const string unix = "http://unix:";
    foreach (var url in urls.Where(url => url.StartsWith(unix, StringComparison.Ordinal)))
        File.SetUnixFileMode(url[unix.Length..], (UnixFileMode)0b110_110_110);
}

/// <summary>The body of POST /payments.</summary>
internal sealed record Payment(Guid CorrelationId, decimal Amount);

/// <summary>The only type that crosses the wire.</summary>
[JsonSerializable(typeof(Payment))]
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
internal sealed partial class StubJsonContext : JsonSerializerContext;
