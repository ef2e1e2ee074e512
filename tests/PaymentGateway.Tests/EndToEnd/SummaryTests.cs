namespace PaymentGateway.Tests.EndToEnd;

[Collection(OneAfterAnother.Name)]
public sealed class SummaryTests(RunningSystem running) : OnRunningSystem(running)
{
    private const string Empty =
        """{"default":{"totalRequests":0,"totalAmount":0.00},"fallback":{"totalRequests":0,"totalAmount":0.00}}""";

    [GatewaySystemFact]
    public async Task The_answer_is_the_contracts_JSON_byte_for_byte()
    {
        Assert.Equal(Empty, await System.Client.GetStringAsync("payments-summary"));
        foreach (var amount in new[] { 19.90m, 0.10m, 999_999_999_999.99m })
            await LoadDriver.PostAsync(System.Client, Ledger, amount: amount);
        await LedgerCheck.AgreesAsync(System, Ledger);

        foreach (var http in new[] { System.Client, System.Api1, System.Api2 })
        {
            using var answer = await http.GetAsync("payments-summary");
            Assert.Equal("application/json", answer.Content.Headers.ContentType?.MediaType);
            Assert.Equal(
                """{"default":{"totalRequests":3,"totalAmount":1000000000019.99}"""
                + ""","fallback":{"totalRequests":0,"totalAmount":0.00}}""",
                await answer.Content.ReadAsStringAsync());
        }
    }

    [GatewaySystemFact]
    public async Task The_same_instant_counts_the_same_in_any_zone_and_in_none()
    {
        await LoadDriver.PostAsync(System.Client, Ledger);
        await LedgerCheck.AgreesAsync(System, Ledger);
        var at = (await System.Default.PaymentsAsync()).Values.Single().RequestedAt;
        string[] spellings =
        [
            Spell(at, TimeSpan.Zero, "'Z'"),
            Spell(at, TimeSpan.Zero, ""),
            Spell(at, TimeSpan.Zero, "zzz"),
            Spell(at, TimeSpan.FromHours(2), "zzz"),
            Spell(at, TimeSpan.FromHours(-3.5), "zzz"),
        ];

        foreach (var from in spellings)
            foreach (var to in spellings)
                Assert.Contains("\"totalRequests\":1", await System.Client.GetStringAsync(
                    $"payments-summary?from={Uri.EscapeDataString(from)}&to={Uri.EscapeDataString(to)}"));
    }

    private static string Spell(DateTimeOffset at, TimeSpan offset, string zone) =>
        at.ToOffset(offset).ToString($"yyyy-MM-dd'T'HH:mm:ss.ffffff{zone}", CultureInfo.InvariantCulture);
}
