namespace PaymentGateway.Tests.Summarising;

public sealed class AuditEndpointsTests() : OneGateway
{
    [PostgresTheory]
    [InlineData("form=2025-07-15T12:00:00Z", "form")]
    [InlineData("from=2025-07-15T12:00:00Z&until=2025-07-16", "until")]
    [InlineData("From=2025-07-15T12:00:00Z", "From")]
    [InlineData("state=settled", "state")]
    [InlineData("to=2025-07-15&to=2025-07-16", "to")]
    [InlineData("from=yesterday", "from")]
    [InlineData("to=2025-02-30T00:00:00.000Z", "to")]
    [InlineData("from=2025-07-15T12:34:56.001Z&to=2025-07-15T12:34:56.000Z", "from")]
    [InlineData("from=2025-07-15T12:00:00%2B00:00&to=2025-07-15T12:00:00%2B02:00", "from")]
    public Task Summary_refuses_unknown_repeated_and_wrong_parameters(string query, string field) =>
        PaymentViews.AssertProblemAsync(
            Gateway.AskAsync($"payments-summary?{query}"), HttpStatusCode.BadRequest, field);

    // Go and Java print nine digits. The settled payment's own time is the middle of the windows.
    [PostgresTheory]
    [InlineData("", "000Z", 1)]
    [InlineData("", "001Z", 0)]
    [InlineData("", "999z", 0)]
    [InlineData("", "0000000000001Z", 0)]
    [InlineData("", "000", 1)]
    [InlineData("", "%2B00", 1)]
    [InlineData("", "-00", 1)]
    [InlineData("", "+00:00", 1)]
    [InlineData("999Z", "", 1)]
    [InlineData("000z", "", 1)]
    [InlineData("0000000000001%2B00", "", 1)]
    [InlineData("999Z", "000Z", 1)]
    [InlineData("999Z", "998Z", 0)]
    [InlineData("002Z", "001Z", 0)]
    public async Task From_is_rounded_up_and_to_is_rounded_down_to_the_microsecond(string to, string from, int count)
    {
        var id = await Gateway.PayAsync();
        var at = (await Gateway.BecomesAsync(id, "settled")).Text("requestedAt")!.TrimEnd('Z');
        var (first, last) = (from.Length > 0 ? $"from={at}{from}" : "", to.Length > 0 ? $"&to={at}{to}" : "");

        var summary = JsonNode.Parse(await Gateway.GetAsync($"payments-summary?{first}{last}".Replace("?&", "?")));

        Assert.Equal(count, (int)summary!["default"]!["totalRequests"]!);
    }
}
