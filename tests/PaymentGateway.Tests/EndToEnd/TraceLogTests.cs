namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// The published instances at the finest level of the log, through payments of each kind: no line names an amount.
/// </summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class TraceLogTests
{
    // No id, time or port has so many digits of them.
    private const decimal Amount = 876_543_210.98m;
    private const string Digits = "876543210";

    [GatewaySystemFact]
    public async Task At_Trace_no_line_of_either_instance_names_an_amount()
    {
        await using var system = await GatewaySystem.UpAsync(
            ("Logging__LogLevel__Default", "Trace"), ("Logging__LogLevel__Microsoft", "Trace"),
            ("Logging__LogLevel__System", "Trace"), ("Gateway__Settling__CallTimeout", "1s"),
            ("Gateway__Settling__InDoubtHorizon", "1s"));
        foreach (var instance in system.RunningInstances())
        {
            var settled = await PayAsync(system, instance, "settled");
            foreach (var fault in new object[]
            {
                new { tooMany = true, times = 1 }, new { garbage = true, times = 1 },
                new { afterInsert = "reset", times = 1 }, new { afterInsert = "errorBody", times = 1 },
            })
            {
                await system.Default.SetFaultsAsync(fault);
                await PayAsync(system, instance, "settled");
            }

            await system.Default.SetFaultsAsync(new { status = 400, times = 1 });
            await PayAsync(system, instance, "parked");
            Assert.Equal(HttpStatusCode.Accepted, await PostAsync(instance, settled, Amount));
            Assert.Equal(HttpStatusCode.Conflict, await PostAsync(instance, settled, Amount + 0.01m));
            Assert.Equal(HttpStatusCode.BadRequest, await PostAsync(instance, Guid.NewGuid(), Amount + 0.001m));
            Assert.Contains(Digits, await GetAsync(instance, "payments"), StringComparison.Ordinal);
        }

        foreach (var part in new[] { GatewaySystem.First, GatewaySystem.Second })
        {
            var log = system.ReadLog(part);
            // Each level is there: of the server, of the calls to processors, and our own.
            Assert.Contains("Microsoft.AspNetCore", log, StringComparison.Ordinal);
            Assert.Contains("is parked", log, StringComparison.Ordinal);
            Assert.DoesNotContain(Digits, log, StringComparison.Ordinal);
            Assert.DoesNotContain(
                Amount.ToString("N", CultureInfo.InvariantCulture)[..^3], log, StringComparison.Ordinal);
        }
    }

    private static async Task<Guid> PayAsync(GatewaySystem system, HttpClient instance, string state)
    {
        var id = Guid.NewGuid();
        Assert.Equal(HttpStatusCode.Accepted, await PostAsync(instance, id, Amount));
        await Eventually.HoldsAsync(
            async () => (await GetAsync(system.Client, $"payments/{id}"))
                .Contains($"\"state\":\"{state}\"", StringComparison.Ordinal),
            $"the payment is {state}");
        return id;
    }

    private static async Task<HttpStatusCode> PostAsync(HttpClient instance, Guid id, decimal amount)
    {
        var json = string.Create(
            CultureInfo.InvariantCulture, $$"""{"correlationId":"{{id}}","amount":{{amount}}}""");
        var (status, _) = await Eventually.AnswersAsync(async () =>
        {
            using var body = LoadDriver.Body(json);
            return await instance.PostAsync("payments", body);
        });
        return status;
    }

    private static async Task<string> GetAsync(HttpClient client, string path) =>
        (await Eventually.AnswersAsync(() => client.GetAsync(path))).Body;
}
