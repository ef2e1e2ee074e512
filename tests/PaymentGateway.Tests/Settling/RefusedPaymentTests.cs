using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Polly.CircuitBreaker;

namespace PaymentGateway.Tests.Settling;

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
        var circuit = stages.Default.Health.Circuit;
        await Eventually.HoldsAsync(() => circuit.CircuitState == CircuitState.Open, "they open the circuit");
        for (var payment = 0; payment < 20; payment++)
            stages.Add(NewPayment());

        await Eventually.HoldsAsync(() => stages.Outcomes.Count == 20, "all others are settled");

        Payment NewPayment() => new(Guid.NewGuid(), 1990, Timestamps.Truncate(clock.GetUtcNow().UtcDateTime), Epoch);
    }

    private static async Task<WebApplication> StartAsync(HashSet<Guid> refused)
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        builder.Logging.ClearProviders();
        var app = builder.Build();
        app.Run(async context =>
        {
            using var body = await JsonDocument.ParseAsync(context.Request.Body);
            if (refused.Contains(body.RootElement.GetProperty("correlationId").GetGuid()))
                context.Response.StatusCode = StatusCodes.Status500InternalServerError;
            else
                await context.Response.WriteAsync("""{"message":"stored"}""");
        });
        await app.StartAsync();
        return app;
    }
}
