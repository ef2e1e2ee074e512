namespace PaymentGateway.Tests.Support;

/// <summary>Arguments for the stores; batches are sorted by id as the gateway's are.</summary>
internal static class Batches
{
    public static readonly DateTime Noon = new(2025, 7, 15, 12, 0, 0, DateTimeKind.Utc);

    /// <summary>The low-water mark of a lease that was never renewed.</summary>
    public static readonly DateTime Earliest = DateTime.SpecifyKind(DateTime.MinValue, DateTimeKind.Utc);

    public static readonly IntakeOptions Intake = new(
        MaxWaiting: 1_000, MaxBatch: 500, TimeSpan.FromSeconds(1), TimeSpan.Zero, QueueCapacity: 1_000);

    /// <summary>A renewal for a minute; everything before noon is settled.</summary>
    public static RenewalArgs Renewal(int epoch, long number = 1, bool usesFallback = false) => new(
        epoch, TimeSpan.FromMinutes(1), Noon, number, "", CloseExpired: false, Former: [],
        UsedProcessors: usesFallback ? ProcessorSet.Of(Known.Fallback).Bits : 0);

    public static Guid[] SortedIds(int count) =>
        [.. Enumerable.Range(0, count).Select(_ => Guid.NewGuid()).Order()];

    /// <summary>A payment of epoch 1.</summary>
    public static Payment NewPayment(long cents = 1990) => new(Guid.NewGuid(), cents, Noon, 1);

    /// <summary>A payment of epoch 1 whose charge at default is sent now.</summary>
    public static Payment NewCharge(long cents = 1990)
    {
        var payment = NewPayment(cents);
        payment.Charge(Known.Default, Noon.AddMicroseconds(123_456));
        return payment;
    }

    /// <summary>Payments of one amount, accepted one microsecond apart.</summary>
    public static StoreArgs ToStore(Guid[] ids, int owner, DateTime? acceptedAt = null, long cents = 1990) => new(
        ids,
        Array.ConvertAll(ids, _ => cents),
        ids.Select((_, at) => (acceptedAt ?? Noon).AddMicroseconds(at)).ToArray(),
        new int[ids.Length],
        owner);

    /// <summary>All of a stored batch settled by one processor at one time.</summary>
    public static RecordArgs ToRecord(
        StoreArgs stored, Processor? processor = null, DateTime? requestedAt = null, int epoch = 1) =>
        new(
        stored.Ids,
        Array.ConvertAll(stored.Ids, _ => (processor ?? Known.Default).Id),
        stored.AmountsCents,
        Array.ConvertAll(stored.Ids, _ => requestedAt ?? Noon),
        stored.AcceptedAts,
        Array.ConvertAll(stored.Ids, _ => (short)1),
        epoch);

    /// <summary>An epoch of no database, which is held for ever.</summary>
    public static Epoch NewEpoch(int number = 1, TimeProvider? clock = null)
    {
        var time = clock ?? TimeProvider.System;
        var epoch = new Epoch(
            number, LedgerState.Unknown, Known.AtDefault, DateTime.UnixEpoch, new AsyncAutoResetEvent(time),
            Intake, new DoubtNotes(time), time);
        epoch.Trust(long.MaxValue);
        return epoch;
    }
}
