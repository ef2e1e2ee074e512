using System.Collections.Concurrent;

namespace PaymentGateway.Tools.Paying;

/// <summary>What a client knows of a payment in the end.</summary>
public enum LoadOutcome
{
    /// <summary>Sent, no answer yet.</summary>
    Pending,

    /// <summary>2xx: it must be settled exactly once.</summary>
    Acknowledged,

    /// <summary>4xx: it must never be settled.</summary>
    Refused,

    /// <summary>503: it may have been stored all the same.</summary>
    Unavailable,

    /// <summary>No answer, or one that is none of the contract: it may have been stored all the same.</summary>
    Failed,
}

/// <summary>One payment as its client saw it; SentAt and Latency are those of the last attempt.</summary>
public sealed record LoadEntry(
    Guid Id, decimal Amount, LoadOutcome Outcome, int Attempts, DateTimeOffset SentAt, TimeSpan Latency, string Answer);

/// <summary>Every payment that was sent, with its outcome. Any thread may write.</summary>
public sealed class LoadLedger
{
    private readonly ConcurrentDictionary<Guid, LoadEntry> _entries = new();

    public int Count => _entries.Count;

    public int Acknowledged => CountOf(LoadOutcome.Acknowledged);

    public IEnumerable<LoadEntry> Entries => _entries.Select(entry => entry.Value);

    public LoadEntry? Find(Guid id) => _entries.GetValueOrDefault(id);

    public void Note(LoadEntry entry) => _entries[entry.Id] = entry;

    public int CountOf(LoadOutcome outcome) => Entries.Count(entry => entry.Outcome == outcome);

    /// <summary>The 99th percentile in milliseconds, for people.</summary>
    public string P99Ms => $"{Percentile(99).TotalMilliseconds:0.0}";

    /// <summary>The latency under which so many of a hundred payments stayed.</summary>
    public TimeSpan Percentile(double percent, DateTimeOffset? from = null, DateTimeOffset? to = null)
    {
        var sorted = Entries.Where(entry => !(entry.SentAt < from) && !(entry.SentAt >= to))
            .Select(entry => entry.Latency).Order().ToList();
        return sorted.Count == 0
            ? TimeSpan.Zero
            : sorted[Math.Min(sorted.Count - 1, (int)(sorted.Count * percent / 100))];
    }
}
