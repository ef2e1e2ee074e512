using ProcessorSimulator.Charging;
using StoredPayment = ProcessorSimulator.Charging.StoredPayment;

namespace PaymentGateway.Tests.Simulating;

public sealed class StoredPaymentTests
{
    private static readonly DateTime Noon = new(2025, 7, 15, 12, 0, 0, DateTimeKind.Utc);

    // Amounts half to even; times in UTC, to microseconds.
    [Theory]
    [InlineData("10.005", ProcessorRequests.SomeTime, "10.00", ProcessorRequests.SomeTime)]
    [InlineData("10.015", ProcessorRequests.SomeTime, "10.02", ProcessorRequests.SomeTime)]
    [InlineData("10.0051", ProcessorRequests.SomeTime, "10.01", ProcessorRequests.SomeTime)]
    [InlineData("-10.005", ProcessorRequests.SomeTime, "-10.00", ProcessorRequests.SomeTime)]
    [InlineData("19.9", ProcessorRequests.SomeTime, "19.90", ProcessorRequests.SomeTime)]
    [InlineData("7", ProcessorRequests.SomeTime, "7.00", ProcessorRequests.SomeTime)]
    [InlineData("19.9", "2025-07-15T12:34:56.1234564Z", "19.90", "2025-07-15T12:34:56.123456Z")]
    [InlineData("19.9", "2025-07-15T12:34:56.1234566Z", "19.90", "2025-07-15T12:34:56.123457Z")]
    [InlineData("19.9", "2025-07-15T12:34:56.1234565Z", "19.90", "2025-07-15T12:34:56.123456Z")]
    [InlineData("19.9", "2025-07-15T12:34:56.1234575Z", "19.90", "2025-07-15T12:34:56.123458Z")]
    [InlineData("19.9", "2025-07-15T12:34:56.9999999Z", "19.90", "2025-07-15T12:34:57Z")]
    [InlineData("19.9", "2025-07-15T12:34:56.100Z", "19.90", "2025-07-15T12:34:56.1Z")]
    [InlineData("19.9", "2025-07-15T09:34:56-03:00", "19.90", "2025-07-15T12:34:56Z")]
    [InlineData("19.9", "2025-07-15T12:34:56", "19.90", "2025-07-15T12:34:56Z")]
    public async Task Amount_and_requestedAt_are_rounded_as_they_are_stored(
        string amount, string requestedAt, string storedAmount, string storedAt)
    {
        var id = Guid.NewGuid();
        await using var processor = await SimulatedProcessor.StartAsync();

        using var charge = await processor.Client.ChargeAsync(
            id, decimal.Parse(amount, CultureInfo.InvariantCulture), requestedAt);

        Assert.EndsWith(
            $"\"amount\":{storedAmount},\"requestedAt\":\"{storedAt}\"}}",
            await processor.Client.GetStringAsync($"payments/{id}"), StringComparison.Ordinal);
    }

    [Fact]
    public void The_last_moment_of_the_calendar_can_be_stored()
    {
        var stored = StoredPayment.ToMicroseconds(DateTime.MaxValue);

        Assert.Equal(DateTime.MaxValue.AddTicks(-9), stored);
    }

    [Fact]
    public void A_summary_over_many_pages_equals_the_sum_over_every_payment()
    {
        var random = new Random(1);
        var ledger = new PaymentLedger(25_000);
        var payments = Enumerable.Range(0, 25_000)
            .Select(i => new StoredPayment(Guid.NewGuid(), i / 100m, Noon.AddMilliseconds(i + random.Next(3_000))))
            .ToArray();
        foreach (var payment in payments)
            Assert.True(ledger.Insert(payment) is InsertResult.Stored or InsertResult.StoredLast);

        for (var round = 0; round < 200; round++)
        {
            var from = Noon.AddMilliseconds(random.Next(-1_000, 29_000));
            var to = from.AddMilliseconds(random.Next(-10, 20_000));
            var inside = payments.Where(payment => payment.RequestedAt >= from && payment.RequestedAt <= to).ToArray();

            Assert.Equal((inside.Length, inside.Sum(payment => payment.Amount)), ledger.Summarise(from, to));
        }

        Assert.Equal((25_000, payments.Sum(payment => payment.Amount)), ledger.Summarise(null, Noon));
    }

    [Fact]
    public async Task Payments_inserted_by_many_threads_are_each_stored_once()
    {
        var ledger = new PaymentLedger(25_000);
        var ids = Enumerable.Range(0, 10_000).Select(_ => Guid.NewGuid()).ToArray();

        var inserted = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Run(() =>
            ids.Count(id => ledger.Insert(new StoredPayment(id, 1.00m, Noon)) == InsertResult.Stored))));

        Assert.Equal(10_000, inserted.Sum());
        Assert.Equal((10_000, 10_000.00m), ledger.Summarise(Noon, Noon));
    }

    [Fact]
    public async Task A_full_processor_refuses_as_one_that_fails_until_it_is_purged()
    {
        await using var processor = await SimulatedProcessor.StartAsync(paymentsMax: 2);
        var (first, last, refused) = (Guid.NewGuid(), Guid.NewGuid(), Guid.NewGuid());

        Assert.Equal((HttpStatusCode.OK, "{"), await ChargeAsync(processor, first));
        Assert.Equal((HttpStatusCode.OK, "{"), await ChargeAsync(processor, last));
        // No body: nothing was stored, and the gateway may charge elsewhere.
        Assert.Equal((HttpStatusCode.InternalServerError, ""), await ChargeAsync(processor, refused));
        Assert.Equal((HttpStatusCode.UnprocessableEntity, "{"), await ChargeAsync(processor, last));
        Assert.StartsWith(
            "{\"failing\":true,",
            await processor.Client.GetStringAsync("payments/service-health"),
            StringComparison.Ordinal);
        Assert.Equal([first, last], (await processor.PaymentsAsync()).Values.Select(one => one.CorrelationId));

        await processor.PurgeAsync();
        Assert.Equal((HttpStatusCode.OK, "{"), await ChargeAsync(processor, refused));
    }

    private static async Task<(HttpStatusCode Status, string BodyStart)> ChargeAsync(
        SimulatedProcessor processor, Guid id)
    {
        using var answer = await processor.Client.ChargeAsync(id);
        var body = await answer.Content.ReadAsStringAsync();
        return (answer.StatusCode, body.Length == 0 ? "" : body[..1]);
    }
}
