using System.Net.Http.Headers;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using PaymentGateway.Operator.Webhooks;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>The shop of samples/, which integrators copy first, beside a whole system that delivers to it.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class SampleTests : IAsyncLifetime
{
    private const string Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    private const int LinesMax = 150;

    private readonly string _port = GatewaySystemSettings.FreePort();
    private int _answersToLose;
    private int _posts;
    private WebApplication _network = null!;
    private HttpClient _shop = null!;
    private Process? _process;
    private GatewaySystem _system = null!;

    public async Task InitializeAsync()
    {
        if (GatewaySystemParts.SkipReason is not null)
            return;

        _system = await GatewaySystem.UpAsync(
            ("Gateway__Webhooks__shop__Url", $"http://127.0.0.1:{_port}/webhooks"),
            ("Gateway__Webhooks__shop__Secret", Secret), ("Gateway__Webhooks__shop__AllowHttp", "True"),
            ("Gateway__Webhooks__shop__AllowPrivate", "True"));
        _network = Network();
        await _network.StartAsync();
        var start = new ProcessStartInfo("dotnet", [Path.Combine(AppContext.BaseDirectory, "Shop.dll")]);
        start.Environment["ASPNETCORE_URLS"] = $"http://127.0.0.1:{_port}";
        start.Environment["Gateway"] = _network.Urls.Single();
        start.Environment["WebhookSecret"] = Secret;
        start.Environment["Logging__LogLevel__Default"] = "Error";
        _process = Process.Start(start)!;
        _shop = UnixHttp.Plain(new Uri($"http://127.0.0.1:{_port}"));
        await Eventually.HoldsAsync(() => Eventually.IsReadyAsync(_shop, "orders"), "the shop answers");
    }

    public async Task DisposeAsync()
    {
        if (_process is null)
            return;

        _process.Kill();
        await _process.WaitForExitAsync();
        _process.Dispose();
        _shop.Dispose();
        await _network.DisposeAsync();
        await _system.DisposeAsync();
    }

    [Fact]
    public void The_sample_is_short_and_verifies_as_the_page_says()
    {
        var sample = File.ReadAllLines(Repository.PathOf("samples", "Shop", "Program.cs"));
        var snippet = File.ReadAllText(Repository.PathOf("docs", "integrate.md"))
            .Split("```csharp\n")[1].Split("\n```")[0].Split('\n');

        Assert.InRange(sample.Length, 1, LinesMax);
        // But for its first lines: the page leaves out what a forged timestamp does.
        Assert.All(
            snippet.Skip(3).Select(line => line.Trim()),
            line => Assert.Contains(line, sample.Select(one => one.Trim())));
    }

    [GatewaySystemFact]
    public async Task The_shop_pays_and_shows_what_the_webhook_said_and_takes_no_forged_one()
    {
        var order = await OrderAsync("12.34");

        await Eventually.HoldsAsync(
            async () => (await ShownAsync(order)).GetProperty("state").GetString() == "payment.settled",
            "the shop knows that the payment is settled");
        var settled = (await ShownAsync(order)).GetProperty("events").EnumerateArray().Single();
        Assert.Equal(
            ("default", 12.34m),
            (settled.GetProperty("processor").GetString(), settled.GetProperty("amount").GetDecimal()));
        Assert.Equal(12.34m, (await _system.Default.PaymentsAsync())[order].Amount);

        var forged = Encoding.UTF8.GetBytes($$"""
            {"id":"1","type":"payment.parked","correlationId":"{{order}}","amount":12.34}
            """);
        Assert.Equal(HttpStatusCode.Unauthorized, await DeliverAsync("1", forged, "a-key-that-is-another-one"));
        Assert.Equal("payment.settled", (await ShownAsync(order)).GetProperty("state").GetString());
        var signing = Convert.FromBase64String(Secret["whsec_".Length..]);
        Assert.Equal(HttpStatusCode.NoContent, await DeliverAsync("1", forged, Encoding.Latin1.GetString(signing)));
        Assert.Equal(HttpStatusCode.NoContent, await DeliverAsync("1", forged, Encoding.Latin1.GetString(signing)));
        Assert.Equal(2, (await ShownAsync(order)).GetProperty("events").GetArrayLength());
    }

    [GatewaySystemFact]
    public async Task A_payment_whose_answers_are_lost_is_repeated_with_its_id_and_charged_once()
    {
        _answersToLose = 2;

        var order = await OrderAsync("43.21");

        Assert.Equal(3, _posts);
        Assert.True((await ShownAsync(order)).GetProperty("state").GetString() is "accepted" or "payment.settled");
        using (var again = await _shop.PostAsync($"orders/{order}/pay", null))
            Assert.Equal(HttpStatusCode.OK, again.StatusCode);
        await Eventually.HoldsAsync(
            async () => (await ShownAsync(order)).GetProperty("state").GetString() == "payment.settled",
            "the shop knows that the payment is settled");
        Assert.Equal(order, Assert.Single(await _system.Default.PaymentsAsync()).Key);
        Assert.Empty(await _system.Fallback.PaymentsAsync());
    }

    // The gateway, whose answers to some payments do not come through.
    private WebApplication Network()
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.WebHost.ConfigureKestrel(kestrel => kestrel.Listen(IPAddress.Loopback, 0));
        builder.Logging.ClearProviders();
        var network = builder.Build();
        network.Run(async context =>
        {
            Interlocked.Increment(ref _posts);
            using var body = new StreamContent(context.Request.Body);
            body.Headers.ContentType = new MediaTypeHeaderValue("application/json");
            using var answer = await _system.Client.PostAsync("payments", body);
            if (Interlocked.Decrement(ref _answersToLose) >= 0)
                context.Abort();
            else
                context.Response.StatusCode = (int)answer.StatusCode;
        });
        return network;
    }

    private async Task<Guid> OrderAsync(string amount)
    {
        using var answer = await _shop.PostAsync("orders", LoadDriver.Body($$"""{"amount":{{amount}}}"""));
        Assert.Equal(HttpStatusCode.Created, answer.StatusCode);
        return (await answer.Content.ReadFromJsonAsync<JsonElement>()).GetProperty("id").GetGuid();
    }

    private async Task<JsonElement> ShownAsync(Guid order) =>
        (await OrdersAsync()).Single(one => one.GetProperty("id").GetGuid() == order);

    private async Task<IEnumerable<JsonElement>> OrdersAsync() =>
        (await _shop.GetFromJsonAsync<JsonElement>("orders")).EnumerateArray().ToList();

    private async Task<HttpStatusCode> DeliverAsync(string id, byte[] body, string key)
    {
        var sent = DateTimeOffset.UtcNow.ToUnixTimeSeconds();
        using var request = new HttpRequestMessage(HttpMethod.Post, "webhooks");
        request.Content = new ByteArrayContent(body);
        request.Headers.Add("webhook-id", id);
        request.Headers.Add("webhook-timestamp", $"{sent}");
        request.Headers.Add("webhook-signature", WebhookClient.Sign(Encoding.Latin1.GetBytes(key), id, sent, body));
        using var answer = await _shop.SendAsync(request);
        return answer.StatusCode;
    }
}
