namespace PaymentGateway.Tests.Summarising;

/// <summary>The parameters of GET /payments-summary.</summary>
public sealed class AuditEndpointsTests() : OneGateway
{
    [PostgresTheory]
    [InlineData("form=2025-07-15T12:00:00Z", "form")]
    [InlineData("from=2025-07-15T12:00:00Z&until=2025-07-16", "until")]
    [InlineData("From=2025-07-15T12:00:00Z", "From")]
    [InlineData("state=settled", "state")]
    [InlineData("to=2025-07-15&to=2025-07-16", "to")]
    public async Task Summary_refuses_unknown_and_repeated_parameters(string query, string field)
    {
        using var answer = await Gateway.AskAsync($"payments-summary?{query}");

        Assert.Equal(HttpStatusCode.BadRequest, answer.StatusCode);
        using var problem = JsonDocument.Parse(await answer.Content.ReadAsStringAsync());
        Assert.Equal(field, problem.RootElement.GetProperty("field").GetString());
    }
}
