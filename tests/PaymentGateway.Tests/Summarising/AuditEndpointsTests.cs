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
}
