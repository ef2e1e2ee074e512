namespace PaymentGateway.Tests.Support;

/// <summary>Batches for the stores, sorted by id as the gateway's are.</summary>
internal static class Batches
{
    public static readonly DateTime Noon = new(2025, 7, 15, 12, 0, 0, DateTimeKind.Utc);

    public static Guid[] SortedIds(int count)
    {
        var ids = new Guid[count];
        for (var i = 0; i < count; i++)
            ids[i] = Guid.NewGuid();
        Array.Sort(ids);
        return ids;
    }

    /// <summary>Payments of one amount, accepted one microsecond apart.</summary>
    public static StoreArgs ToStore(Guid[] ids, int owner, DateTime? acceptedAt = null, long cents = 1990) => new(
        ids,
        Array.ConvertAll(ids, _ => cents),
        ids.Select((_, at) => (acceptedAt ?? Noon).AddMicroseconds(at)).ToArray(),
        owner);

    /// <summary>All of a stored batch settled by one processor at one time.</summary>
    public static RecordArgs ToRecord(
        StoreArgs stored, Processor processor = Processor.Default, DateTime? requestedAt = null, int epoch = 1) =>
        new(
        stored.Ids,
        Array.ConvertAll(stored.Ids, _ => (short)processor),
        stored.AmountsCents,
        Array.ConvertAll(stored.Ids, _ => requestedAt ?? Noon),
        stored.AcceptedAts,
        Array.ConvertAll(stored.Ids, _ => (short)1),
        epoch);
}
