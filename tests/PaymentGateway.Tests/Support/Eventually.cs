namespace PaymentGateway.Tests.Support;

/// <summary>Waits for a condition with a deadline, for what happens on other threads or in other programs.</summary>
public static class Eventually
{
    // Far longer than anything takes on a machine with ten times its load.
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    public static Task HoldsAsync(Func<bool> condition, string what) =>
        HoldsAsync(() => Task.FromResult(condition()), what);

    public static async Task HoldsAsync(Func<Task<bool>> condition, string what, TimeSpan? within = null)
    {
        var limit = within ?? Deadline;
        var waited = Stopwatch.StartNew();
        while (!await condition())
        {
            Assert.True(waited.Elapsed < limit, $"Waited {limit.TotalSeconds} s in vain for: {what}");
            await Task.Delay(5);
        }
    }

    /// <summary>Advances a clock, step by step, until the condition holds.</summary>
    public static Task AdvancesUntilAsync(
        this FakeTimeProvider clock, Func<bool> condition, TimeSpan step, string what) =>
        clock.AdvancesUntilAsync(() => Task.FromResult(condition()), step, what);

    public static Task AdvancesUntilAsync(
        this FakeTimeProvider clock, Func<Task<bool>> condition, TimeSpan step, string what) => HoldsAsync(
        () =>
        {
            clock.Advance(step);
            return condition();
        },
        what);

    /// <summary>Whether an instance is ready; it is not while nothing listens there or answers in time.</summary>
    public static async Task<bool> IsReadyAsync(HttpClient instance, string path = "readyz")
    {
        try
        {
            using var answer = await instance.GetAsync(path);
            return answer.IsSuccessStatusCode;
        }
        catch (Exception unanswered) when (unanswered is HttpRequestException or TaskCanceledException)
        {
            return false;
        }
    }

    /// <summary>The first answer but 503 to a repeated call; a slow machine answers 503 at first.</summary>
    public static async Task<(HttpStatusCode Status, string Body)> AnswersAsync(
        Func<Task<HttpResponseMessage>> callAsync)
    {
        (HttpStatusCode Status, string Body) answered = default;
        await HoldsAsync(
            async () =>
            {
                using var answer = await callAsync();
                answered = (answer.StatusCode, await answer.Content.ReadAsStringAsync());
                return answered.Status != HttpStatusCode.ServiceUnavailable;
            },
            "another answer than 503");
        return answered;
    }
}
