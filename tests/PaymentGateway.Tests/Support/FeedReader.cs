namespace PaymentGateway.Tests.Support;

/// <summary>Reads the feed of a database, page by page.</summary>
internal sealed class FeedReader(TestDatabase database, int page = 200)
{
    public EventCursor? At { get; set; }

    /// <summary>The new events, as kind and id.</summary>
    /// <param name="least">Waits for so many, because transactions of other tests on the server hold the feed.</param>
    public async Task<List<string>> ReadAsync(int least = 0) =>
        (await ReadRowsAsync(least)).ConvertAll(row => $"{row.Kind} {row.CorrelationId}");

    public async Task<List<EventRow>> ReadRowsAsync(int least = 0)
    {
        var all = new List<EventRow>();
        await Eventually.HoldsAsync(
            async () =>
            {
                var found = await PageAsync();
                Assert.NotNull(found);
                At = found.Next;
                all.AddRange(found.Events);
                return found.Events.Count == 0 && all.Count >= least;
            },
            $"there are {least} events");
        return all;
    }

    public Task<EventPage?> PageAsync() => new EventStore(database.Shared).PageAsync(At, page);
}
