namespace PaymentGateway.Tests.Support;

/// <summary>Reads server-sent events of a gateway, as a browser does.</summary>
internal sealed class EventReader : IAsyncDisposable
{
    private readonly HttpResponseMessage _answer;
    private readonly StreamReader _lines;

    private EventReader(HttpResponseMessage answer, Stream body) =>
        (_answer, _lines) = (answer, new StreamReader(body));

    public static async Task<EventReader> StartAsync(HttpClient client, string path = "ops/events")
    {
        var answer = await client.GetAsync(path, HttpCompletionOption.ResponseHeadersRead);
        Assert.Equal("text/event-stream", answer.Content.Headers.ContentType?.ToString());
        return new EventReader(answer, await answer.Content.ReadAsStreamAsync());
    }

    public HttpResponseMessage Answer => _answer;

    /// <summary>The next event's data, or null at the end.</summary>
    public async Task<string?> NextAsync()
    {
        while (await _lines.ReadLineAsync().WaitAsync(TimeSpan.FromSeconds(20)) is { } line)
            if (line.StartsWith("data: ", StringComparison.Ordinal))
                return line["data: ".Length..];
        return null;
    }

    public async Task<JsonElement> UntilAsync(Func<JsonElement, bool> isWanted, string what)
    {
        for (var events = 0; events < 20; events++)
        {
            var data = await NextAsync() ?? throw new InvalidOperationException($"The events ended before: {what}");
            var view = JsonDocument.Parse(data).RootElement;
            if (isWanted(view))
                return view;
        }

        throw new TimeoutException($"Twenty events in vain for: {what}");
    }

    public ValueTask DisposeAsync()
    {
        _lines.Dispose();
        _answer.Dispose();
        return ValueTask.CompletedTask;
    }
}
