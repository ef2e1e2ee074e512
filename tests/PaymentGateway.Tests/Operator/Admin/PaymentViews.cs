namespace PaymentGateway.Tests.Operator.Admin;

/// <summary>Reads the answers of GET /payments/{id} and GET /payments.</summary>
internal static class PaymentViews
{
    public const string ParkedPath = "payments?state=parked";

    public const string NoPayments = """{"payments":[],"next":null}""";

    public static async Task<JsonElement> ShowAsync(this GatewayHost gateway, Guid id) =>
        Parse(await gateway.GetAsync($"payments/{id}"));

    public static async Task<JsonElement> BecomesAsync(this GatewayHost gateway, Guid id, string state)
    {
        var seen = default(JsonElement);
        await Eventually.HoldsAsync(
            async () => Text(seen = await gateway.ShowAsync(id), "state") == state, $"it is {state}");
        return seen;
    }

    public static async Task<(List<JsonElement> Payments, string? Next)> PageAsync(
        this GatewayHost gateway, string query)
    {
        var page = Parse(await gateway.GetAsync($"payments?{query}"));
        return ([.. page.GetProperty("payments").EnumerateArray()], page.GetProperty("next").GetString());
    }

    /// <summary>All pages of a query, one after the other.</summary>
    public static async Task<List<JsonElement>> FollowAsync(this GatewayHost gateway, string query)
    {
        var all = new List<JsonElement>();
        for (var (next, begun) = ((string?)null, false); !begun || next is not null; begun = true)
        {
            (var page, next) = await gateway.PageAsync(next is null ? query : $"{query}&after={next}");
            all.AddRange(page);
        }

        return all;
    }

    public static Guid Id(this JsonElement payment) => payment.GetProperty("correlationId").GetGuid();

    public static IEnumerable<Guid> Ids(this IEnumerable<JsonElement> payments) => payments.Select(Id);

    /// <summary>A member's text; null where it is left out.</summary>
    public static string? Text(this JsonElement payment, string member) =>
        payment.TryGetProperty(member, out var value) ? value.ToString() : null;

    /// <summary>Asserts a problem of this status, with this field, and closes the answer.</summary>
    public static async Task AssertProblemAsync(Task<HttpResponseMessage> asked, HttpStatusCode status, string? field)
    {
        using var answer = await asked;
        Assert.Equal(status, answer.StatusCode);
        Assert.Equal("application/problem+json", answer.Content.Headers.ContentType?.MediaType);
        Assert.Equal(field, Parse(await answer.Content.ReadAsStringAsync()).Text("field"));
    }

    private static JsonElement Parse(string json)
    {
        using var document = JsonDocument.Parse(json);
        return document.RootElement.Clone();
    }
}
