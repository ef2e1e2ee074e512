using System.Text;

namespace PaymentGateway.Tools.Paying;

/// <summary>How often, and after which wait, a client sends again what was not acknowledged.</summary>
public sealed record LoadRetry(int Times, TimeSpan Wait);

/// <summary>Clients that post payments with ids of their own and note every outcome.</summary>
public static class LoadDriver
{
    // A load that cannot keep its rate is a broken test, not a slow one.
    private const int InFlightMax = 2_000;

    private static int _sequence;

    /// <summary>A number of clients, each posting one payment after another with a pause between them.</summary>
    public static Task RunClientsAsync(
        HttpClient http, LoadLedger ledger, int clients, int payments, TimeSpan pause, LoadRetry? retry = null)
    {
        var left = payments;
        return Task.WhenAll(Enumerable.Range(0, clients).Select(async client =>
        {
            // The clients begin spread over one pause and not all at once.
            await Task.Delay(pause * client / clients);
            while (Interlocked.Decrement(ref left) >= 0)
            {
                await PostAsync(http, ledger, retry: retry);
                await Task.Delay(pause);
            }
        }));
    }

    /// <summary>So many payments per second whatever the answers do, spread evenly, until the time is over.</summary>
    public static Task RunAtRateAsync(
        HttpClient http, LoadLedger ledger, double perSecond, TimeSpan duration, LoadRetry? retry = null)
    {
        var total = (int)(perSecond * duration.TotalSeconds);
        return RunAtRateAsync(http, ledger, perSecond, sent => sent < total, retry);
    }

    /// <summary>The same until something else has ended, however long that takes.</summary>
    public static Task RunAtRateAsync(
        HttpClient http, LoadLedger ledger, int perSecond, Task until, LoadRetry? retry = null) =>
        RunAtRateAsync(http, ledger, perSecond, _ => !until.IsCompleted, retry);

    /// <summary>Posts one payment and notes what came of it.</summary>
    public static async Task<LoadEntry> PostAsync(
        HttpClient http, LoadLedger ledger, Guid? id = null, decimal? amount = null, LoadRetry? retry = null)
    {
        // Amounts differ, so that one that is swapped or rounded is seen.
        var entry = new LoadEntry(
            id ?? Guid.NewGuid(), amount ?? 0.01m + Interlocked.Increment(ref _sequence) % 9_973 / 100m,
            LoadOutcome.Pending, 0, DateTimeOffset.UtcNow, TimeSpan.Zero, "");
        ledger.Note(entry);
        for (var attempt = 1; ; attempt++)
        {
            entry = await TryAsync(http, entry, attempt);
            if (entry.Outcome is LoadOutcome.Acknowledged or LoadOutcome.Refused || attempt > (retry?.Times ?? 0))
                break;
            await Task.Delay(retry!.Wait);
        }

        ledger.Note(entry);
        return entry;
    }

    /// <summary>The body of POST /payments as the contract has it.</summary>
    public static StringContent Body(Guid id, decimal amount) => Body(string.Create(
        CultureInfo.InvariantCulture, $$"""{"correlationId":"{{id}}","amount":{{amount:0.00}}}"""));

    public static StringContent Body(string json) => new(json, Encoding.UTF8, "application/json");

    private static async Task RunAtRateAsync(
        HttpClient http, LoadLedger ledger, double perSecond, Predicate<int> goesOn, LoadRetry? retry)
    {
        var clock = Stopwatch.StartNew();
        var running = new List<Task>();
        for (var sent = 0; goesOn(sent); sent++)
        {
            var due = TimeSpan.FromSeconds(sent / perSecond);
            if (due > clock.Elapsed)
                await Task.Delay(due - clock.Elapsed);
            running.RemoveAll(post => post.IsCompletedSuccessfully);
            if (running.Count >= InFlightMax)
                throw new InvalidOperationException($"{running.Count} payments wait for an answer");
            running.Add(PostAsync(http, ledger, retry: retry));
        }

        await Task.WhenAll(running);
    }

    private static async Task<LoadEntry> TryAsync(HttpClient http, LoadEntry entry, int attempt)
    {
        entry = entry with { Attempts = attempt, SentAt = DateTimeOffset.UtcNow };
        var waited = Stopwatch.StartNew();
        try
        {
            using var body = Body(entry.Id, entry.Amount);
            using var answer = await http.PostAsync("payments", body);
            var outcome = (int)answer.StatusCode switch
            {
                >= 200 and < 300 => LoadOutcome.Acknowledged,
                >= 400 and < 500 => LoadOutcome.Refused,
                503 => LoadOutcome.Unavailable,
                _ => LoadOutcome.Failed,
            };
            var text = outcome == LoadOutcome.Acknowledged ? "" : await answer.Content.ReadAsStringAsync();
            return Seen(outcome, $"{(int)answer.StatusCode} {text}");
        }
        catch (Exception broken) when (broken is HttpRequestException or OperationCanceledException or IOException)
        {
            // The outer message only says that it failed.
            return Seen(LoadOutcome.Failed, $"{broken.Message} {broken.GetBaseException().Message}");
        }

        LoadEntry Seen(LoadOutcome outcome, string answer) =>
            entry with { Outcome = outcome, Latency = waited.Elapsed, Answer = answer };
    }
}
