using System.Collections.Concurrent;
using System.Net;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;

namespace Shop;

/// <summary>
/// A shop that pays through the gateway, learns by webhooks what became of each payment, and shows both
/// (docs/integrate.md#a-sample). It keeps its orders in memory; a real shop stores them where the comments say so.
/// </summary>
internal static class Program
{
    private const int Attempts = 6;

    private static readonly ConcurrentDictionary<Guid, Order> Orders = new();
    private static readonly HashSet<string> SeenEvents = [];
    private static readonly JsonSerializerOptions Web = new(JsonSerializerDefaults.Web);

    public static void Main(string[] args)
    {
        var builder = WebApplication.CreateBuilder(args);
        var gateway = new Uri(builder.Configuration["Gateway"] ?? "http://localhost:9999");
        var secret = builder.Configuration["WebhookSecret"]
            ?? throw new InvalidOperationException("WebhookSecret is required: the operator of the gateway gives it.");
        // Longer than the gateway takes at the most, which is 4.5 s.
        builder.Services.AddHttpClient("gateway", http =>
        {
            http.BaseAddress = gateway;
            http.Timeout = TimeSpan.FromSeconds(5);
        });
        var app = builder.Build();

        app.MapPost("/orders", async (NewOrder order, IHttpClientFactory clients) =>
        {
            // Made and stored before the call: after a crash the shop pays again with this id, and it counts once.
            var id = Guid.NewGuid();
            Orders[id] = new Order(id, order.Amount, "new", []);
            await PayAsync(clients.CreateClient("gateway"), id, order.Amount);
            return Results.Created($"/orders/{id}", Orders[id]);
        });
        // For an order that is still unknown: the same id and the same amount, so it cannot be charged twice.
        app.MapPost("/orders/{id:guid}/pay", async (Guid id, IHttpClientFactory clients) =>
        {
            if (!Orders.TryGetValue(id, out var order))
                return Results.NotFound();
            await PayAsync(clients.CreateClient("gateway"), id, order.Amount);
            return Results.Ok(Orders[id]);
        });
        app.MapGet("/orders", () => Orders.Values);
        app.MapPost("/webhooks", (HttpRequest request) => ReceiveAsync(request, secret));
        app.Run();
    }

    private static async Task PayAsync(HttpClient gateway, Guid id, decimal amount)
    {
        var wait = TimeSpan.FromMilliseconds(200);
        for (var attempt = 1; ; attempt++)
        {
            var (status, retryAfter) = await PostAsync(gateway, id, amount);
            switch (status)
            {
                case HttpStatusCode.Accepted:
                    Note(id, "accepted");
                    return;
                // Nobody knows whether the gateway has stored the payment, so it is repeated and not made anew.
                case null or HttpStatusCode.RequestTimeout or >= HttpStatusCode.InternalServerError:
                    if (attempt == Attempts)
                    {
                        Note(id, "unknown");
                        return;
                    }

                    await Task.Delay(retryAfter > wait ? retryAfter : wait);
                    wait *= 2;
                    break;
                default:
                    Note(id, $"refused with {(int)status}");
                    return;
            }
        }
    }

    private static async Task<(HttpStatusCode? Status, TimeSpan RetryAfter)> PostAsync(
        HttpClient gateway, Guid id, decimal amount)
    {
        try
        {
            using var answer = await gateway.PostAsJsonAsync("payments", new { correlationId = id, amount });
            return (answer.StatusCode, answer.Headers.RetryAfter?.Delta ?? TimeSpan.Zero);
        }
        catch (Exception unanswered) when (unanswered is HttpRequestException or OperationCanceledException)
        {
            return (null, TimeSpan.Zero);
        }
    }

    private static async Task<IResult> ReceiveAsync(HttpRequest request, string secret)
    {
        using var body = new MemoryStream();
        await request.Body.CopyToAsync(body);
        var id = request.Headers["webhook-id"].ToString();
        // Over the bytes as they came: a body that was parsed and written again has other bytes.
        if (!Verify(
            secret, id, request.Headers["webhook-timestamp"].ToString(),
            request.Headers["webhook-signature"].ToString(), body.ToArray()))
            return Results.Unauthorized();

        // An event may come twice. Store its id in the transaction that stores what follows from it, then answer. An
        // event of no order is the operator's webhook.test, or another shop's.
        var one = JsonSerializer.Deserialize<PaymentEvent>(body.ToArray(), Web)!;
        lock (Orders)
            if (SeenEvents.Add(id) && Orders.TryGetValue(one.CorrelationId, out var order))
                Orders[order.Id] = order with { State = one.Type, Events = [.. order.Events, one] };
        return Results.NoContent();
    }

    private static bool Verify(string secret, string id, string timestamp, string signatures, byte[] body)
    {
        if (!long.TryParse(timestamp, out var sent))
            return false;
        var age = DateTimeOffset.UtcNow.ToUnixTimeSeconds() - sent;
        var key = Convert.FromBase64String(secret["whsec_".Length..]);
        byte[] signed = [.. Encoding.UTF8.GetBytes($"{id}.{timestamp}."), .. body];
        var expected = Encoding.ASCII.GetBytes("v1," + Convert.ToBase64String(HMACSHA256.HashData(key, signed)));
        return age is >= -300 and <= 300 && signatures.Split(' ').Any(
            given => CryptographicOperations.FixedTimeEquals(Encoding.ASCII.GetBytes(given), expected));
    }

    // An event may come before the answer to the call, and says more.
    private static void Note(Guid id, string state)
    {
        lock (Orders)
            if (Orders[id] is { Events.Length: 0 } order)
                Orders[id] = order with { State = state };
    }
}

/// <summary>What the shop's own clients send.</summary>
internal sealed record NewOrder(decimal Amount);

/// <summary>An order, the state of its payment, and the events of the gateway.</summary>
internal sealed record Order(Guid Id, decimal Amount, string State, PaymentEvent[] Events);

/// <summary>The members of an event that the shop needs (docs/contract.md#get-events).</summary>
internal sealed record PaymentEvent(string Id, string Type, Guid CorrelationId, decimal Amount, string? Processor);
