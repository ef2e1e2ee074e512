namespace PaymentGateway.Tests.EndToEnd;

/// <summary>Holds an error answer against RFC 9457 and against what must never be in one.</summary>
internal static class ProblemCheck
{
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(2);

    /// <summary>Sends and checks status, media type, the four members, the field, and the time it took.</summary>
    public static async Task<HttpResponseMessage> RefusesAsync(
        this HttpClient http, HttpRequestMessage request, int status, string? field = null)
    {
        var (answer, text) = await InTime.EndsAsync(AnswerLimit, SendAsync(), $"the answer {status}");

        Assert.Equal((HttpStatusCode)status, answer.StatusCode);
        Assert.Equal("application/problem+json", answer.Content.Headers.ContentType?.MediaType);
        using var problem = JsonDocument.Parse(text);
        Assert.Equal(status, problem.RootElement.GetProperty("status").GetInt32());
        foreach (var member in new[] { "type", "title", "detail" })
            Assert.NotEmpty(problem.RootElement.GetProperty(member).GetString()!);
        Assert.Equal(field, problem.RootElement.TryGetProperty("field", out var named) ? named.GetString() : null);
        foreach (var trace in new[] { "Exception", "   at ", ".cs:line", "Npgsql", "<html" })
            Assert.DoesNotContain(trace, text);
        return answer;

        async Task<(HttpResponseMessage Answer, string Text)> SendAsync()
        {
            var answer = await http.SendAsync(request);
            return (answer, await answer.Content.ReadAsStringAsync());
        }
    }
}
