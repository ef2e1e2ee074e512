using System.Text.Json.Serialization.Metadata;
using PaymentGateway.Hosting;
using PaymentGateway.Operator.Admin;
using PaymentGateway.Operator.Reconciliation;

namespace PaymentGateway.Tests.Hosting.Http;

public sealed class InstantConverterTests
{
    private static readonly DateTime Second = new(2025, 7, 15, 12, 34, 56, DateTimeKind.Utc);

    [Theory]
    [InlineData(0, "2025-07-15T12:34:56.000000Z")]
    [InlineData(500_000, "2025-07-15T12:34:56.500000Z")]
    [InlineData(1, "2025-07-15T12:34:56.000001Z")]
    public void Timestamps_in_answers_have_six_decimals(int microseconds, string expected)
    {
        var at = Second.AddMicroseconds(microseconds);

        Assert.All(
            new[]
            {
                Write(
                    new PaymentAnswer(
                        Guid.NewGuid(), 1, PaymentState.Settled, "default", at, at, null, null, null, 1),
                    AdminJsonContext.Default.PaymentAnswer),
                Write(new ReadyAnswer("reset", at), HealthJsonContext.Default.ReadyAnswer),
                Write(new ReconciliationProgress { At = at }, ReconciliationJsonContext.Default.ReconciliationProgress),
            },
            json => Assert.Contains($"\"{expected}\"", json, StringComparison.Ordinal));
    }

    private static string Write<T>(T answer, JsonTypeInfo<T> type) => JsonSerializer.Serialize(answer, type);
}
