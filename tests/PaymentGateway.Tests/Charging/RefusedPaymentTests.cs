using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;

namespace PaymentGateway.Tests.Charging;

public sealed class RefusedPaymentTests
{
    private const int Epoch = 1;

    // Fallback is unavailable, so the refused ones stay.
    [Theory]
    [InlineData(2)]
    [InlineData(5)]
    public async Task Payments_that_default_always_refuses_do_not_take_every_probe_from_the_others(int count)
    {
        var clock = TimeProvider.System;
        var refused = Enumerable.Range(0, count).Select(_ => NewPayment()).ToList();
        var ids = refused.Select(payment => payment.Id).ToHashSet();
        await using var processor = await StartAsync(ids);
        await using var stages = Stages.Build(
            "Host=/nowhere", clock, urls: null, ("Gateway:Processors:Default:BaseUrl", processor.Urls.Single()));
        stages.HoldLease(Epoch);
        await stages.StartAsync<SettlementWorker>();

        refused.ForEach(stages.Add);
        await Eventually.HoldsAsync(
            () => stages.Default.Health.Circuit != Circuit.Closed, "they open the circuit");
        for (var payment = 0; payment < 20; payment++)
            stages.Add(NewPayment());

        await Eventually.HoldsAsync(() => stages.Outcomes.Count == 20, "all others are settled");

        Payment NewPayment() => new(Guid.NewGuid(), 1990, Timestamps.Truncate(clock.GetUtcNow().UtcDateTime), Epoch);
    }

    // Slower than four calls in a second, which a breaker with a window would want to see.
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_payment_alone_goes_to_fallback_after_the_fallback_delay_while_default_refuses_slowly(
        bool swallowsConnections)
    {
        var clock = TimeProvider.System;
        var payment = new Payment(
            Guid.NewGuid(), 1990, Timestamps.Truncate(clock.GetUtcNow().UtcDateTime), Epoch);
        await using var slow = await StartAsync([payment.Id], refusesAfter: TimeSpan.FromSeconds(0.4));
        await using var full = await ProcessorFront.FullAsync(new Uri(slow.Urls.Single()));
        await using var fallback = await StartAsync([]);
        await using var stages = Stages.Build(
            "Host=/nowhere", clock, urls: null,
            ("Gateway:Processors:Default:BaseUrl",
                swallowsConnections ? full.BaseAddress.AbsoluteUri : slow.Urls.Single()),
            ("Gateway:Processors:Fallback:BaseUrl", fallback.Urls.Single()),
            ("Gateway:Settling:ConnectTimeout", "400ms"), ("Gateway:Routing:FallbackAfter", "1s"));
        stages.HoldLease(Epoch);
        stages.Epoch.NoteStored(Known.AtBoth);
        await stages.StartAsync<SettlementWorker>();

        stages.Add(payment);

        await Eventually.HoldsAsync(() => stages.Outcomes.Count == 1, "it is settled");
        Assert.NotEqual(Circuit.Closed, stages.Default.Health.Circuit);
    }

    private static async Task<WebApplication> StartAsync(HashSet<Guid> refused, TimeSpan refusesAfter = default)
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        builder.Logging.ClearProviders();
        var app = builder.Build();
        app.Run(async context =>
        {
            using var body = await JsonDocument.ParseAsync(context.Request.Body);
            if (refused.Contains(body.RootElement.GetProperty("correlationId").GetGuid()))
            {
                await Task.Delay(refusesAfter);
                context.Response.StatusCode = StatusCodes.Status500InternalServerError;
            }
            else
                await context.Response.WriteAsync("""{"message":"stored"}""");
        });
        await app.StartAsync();
        return app;
    }
}
