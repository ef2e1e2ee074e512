namespace PaymentGateway.Tests.Chaos;

/// <summary>Clients repeat and look up acknowledged payments; no answer may contradict an earlier one.</summary>
public sealed class ChaosHistories(GatewaySystem system, LoadLedger load, int seed)
{
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(100);

    private readonly Random _random = new(seed);
    private readonly Dictionary<Guid, ClientHistory> _histories = [];
    private readonly List<string> _problems = [];

    public IReadOnlyList<string> Problems => _problems;

    public int Answers { get; private set; }

    public async Task RunWhileAsync(Task steps)
    {
        while (!steps.IsCompleted)
        {
            await Task.Delay(Pause);
            var known = load.Entries.Where(entry => entry.Outcome == LoadOutcome.Acknowledged).ToList();
            if (known.Count > 0)
                await AskAsync(known[_random.Next(known.Count)]);
        }
    }

    private async Task AskAsync(LoadEntry entry)
    {
        var cents = (long)(entry.Amount * 100);
        if (!_histories.TryGetValue(entry.Id, out var history))
            _histories.Add(entry.Id, history = new ClientHistory());
        history.OnPosted(202, cents);
        HttpClient[] instances = [system.Client, system.Api1, system.Api2];
        var (at, more, known) = (instances[_random.Next(instances.Length)], _random.Next(4), history.Known);
        try
        {
            using var body = LoadDriver.Body(entry.Id, (cents + more) / 100m);
            using var answer = more > 1
                ? await at.GetAsync($"payments/{entry.Id}")
                : await at.PostAsync("payments", body);
            var (status, text) = ((int)answer.StatusCode, await answer.Content.ReadAsStringAsync());
            Answers++;
            var why = more > 1 ? history.OnLookedUp(known, status, text) : history.OnPosted(status, cents + more);
            if (why is not null)
                _problems.Add($"{entry.Id} {why}: {status} {text}, {DateTimeOffset.UtcNow:O}");
        }
        catch (Exception broken) when (broken is HttpRequestException or OperationCanceledException or IOException)
        {
            // No answer contradicts nothing.
        }
    }
}
