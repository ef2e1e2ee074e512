namespace PaymentGateway.Tests.Storage;

public sealed class LedgerCorrectionsTests : OwnDatabase
{
    private ReconciliationStore _store = null!;
    private int _owner;
    private StoreArgs _stored = null!;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        _store = (await ReconciliationStore.OpenAsync(
            TestSettings.Read(("ConnectionStrings:Ledger", Database.ConnectionString))))!;
        _owner = await Database.OpenEpochAsync();
        _stored = await Database.StoreAsync(_owner, 20);
    }

    public override async Task DisposeAsync()
    {
        if (_store is not null)
            await _store.DisposeAsync();
        await base.DisposeAsync();
    }

    [PostgresFact]
    public async Task What_an_owner_settles_at_the_same_moment_enters_once()
    {
        var owners = Database.Ledger.RecordAsync(Batches.ToRecord(_stored));
        for (var at = 0; at < 20; at++)
            await _store.RecordAsync(Held(at));

        Assert.Equal(20, await owners);
        Assert.False(await _store.RecordAsync(Held(0)));
        await AssertSumsAsync(20);
    }

    [PostgresFact]
    public async Task Another_ledger_acceptance_or_settlement_is_left_alone()
    {
        Assert.False(await _store.RecordAsync(Held(0) with { AcceptedAt = Batches.Noon.AddDays(1) }));
        Assert.False(await _store.RecordAsync(Held(0) with { Generation = 2 }));
        await AssertSumsAsync(0);
        await Database.Ledger.RecordAsync(Batches.ToRecord(_stored));
        // Its owner cannot have it.
        await Database.ExecuteAsync($"UPDATE leases SET closed_at = now() WHERE epoch = {_owner}");

        Assert.False(await _store.CorrectAsync(Correction(0) with { Generation = 2 }));
        Assert.False(await _store.CorrectAsync(Correction(0) with { WasCents = 1991 }));
        Assert.False(await _store.CorrectAsync(Correction(0) with { WasProcessor = "fallback" }));
        Assert.False(await _store.PutBackAsync(PutBack(0) with { Generation = 2 }));
        Assert.False(await _store.PutBackAsync(PutBack(0) with { WasRequestedAt = Batches.Noon.AddMicroseconds(1) }));

        await AssertSumsAsync(20);
    }

    [PostgresTheory]
    [InlineData("low_water_mark = '-infinity'", false)]
    [InlineData("low_water_mark = (SELECT accepted_at FROM payments WHERE correlation_id = '{0}')", false)]
    [InlineData("low_water_mark = 'infinity'", true)]
    [InlineData("closed_at = now()", true)]
    public async Task A_payment_is_put_back_only_when_its_owner_cannot_have_it(string lease, bool expected)
    {
        await Database.Ledger.RecordAsync(Batches.ToRecord(_stored));
        await Database.ExecuteAsync(
            $"UPDATE leases SET {lease.Replace("{0}", $"{_stored.Ids[5]}", StringComparison.Ordinal)} "
            + $"WHERE epoch = {_owner}");

        // All processors have said since that they lack it, so no 422 of earlier counts.
        await Database.ExecuteAsync(
            $"UPDATE payments SET attempts = 7, held_by = 1 WHERE correlation_id = '{_stored.Ids[5]}'");

        Assert.Equal(expected, await _store.PutBackAsync(PutBack(5)));

        await AssertSumsAsync(expected ? 19 : 20);
        Assert.Equal(expected ? 0 : 1, await Database.ScalarAsync<long>(
            "SELECT count(*) FROM payments WHERE attempts IS NOT NULL"));
        var adopter = await Database.OpenEpochAsync();
        var adopted = await Database.Adoptions.AdoptAsync(new AdoptArgs(0, adopter, DateTime.UnixEpoch, 100));
        Assert.Equal(
            expected ? [(_stored.Ids[5], Known.AtBoth.Bits, (short?)null)] : [],
            adopted.Select(row => (row.CorrelationId, row.MayBeAt!.Value, row.HeldBy)));
    }

    [PostgresFact]
    public async Task A_payment_that_is_adopted_at_the_same_moment_is_not_put_back()
    {
        await Database.Ledger.RecordAsync(Batches.ToRecord(_stored));
        await Database.ExecuteAsync($"UPDATE leases SET closed_at = now() WHERE epoch = {_owner}");
        var adopter = await Database.OpenEpochAsync();
        // As one whose snapshot is older than the settlement.
        await using var adoption = await Database.HoldAsync(
            $"UPDATE payments SET owner_epoch = {adopter} WHERE correlation_id = '{_stored.Ids[5]}'");

        var putBack = _store.PutBackAsync(PutBack(5));
        await Database.WaitsForLockAsync("the correction waits for the adopter");
        await adoption.ExecuteAsync("COMMIT");

        Assert.False(await putBack);
        await AssertSumsAsync(20);
        Assert.Equal(adopter, await Database.ScalarAsync<int>(
            $"SELECT owner_epoch FROM payments WHERE correlation_id = '{_stored.Ids[5]}'"));
    }

    // Else the two would wait for each other, and one of them fails.
    [PostgresFact]
    public async Task A_correction_asks_for_the_payments_first_as_a_purge_does()
    {
        await Database.Ledger.RecordAsync(Batches.ToRecord(_stored));
        await Database.ExecuteAsync($"UPDATE leases SET closed_at = now() WHERE epoch = {_owner}");

        foreach (var correct in new Func<Task<bool>>[]
        {
            () => _store.RecordAsync(Held(1)),
            () => _store.CorrectAsync(Correction(2)),
            () => _store.PutBackAsync(PutBack(3)),
        })
        {
            await using var purge = await Database.HoldAsync("LOCK TABLE payments IN ACCESS EXCLUSIVE MODE");
            var corrected = correct();
            await Database.WaitsForLockAsync("it waits for the payments");
            Assert.Equal(0, await Database.ScalarAsync<long>(
                $"SELECT count(*) FROM pg_locks WHERE pid = {_store.Connection.ProcessID} AND granted "
                + "AND relation IN ('settlements'::regclass, 'settlement_totals'::regclass)"));
            await purge.ExecuteAsync("ROLLBACK");
            await corrected;
        }
    }

    private RecordHeldArgs Held(int at) =>
        new(_stored.Ids[at], _stored.AcceptedAts[at], "default", 1990, Batches.Noon, 1, _owner);

    private CorrectArgs Correction(int at) => new(
        _stored.Ids[at], _stored.AcceptedAts[at], "default", 1990, Batches.Noon, "fallback", 2000,
        Batches.Noon.AddHours(2), 1);

    private PutBackArgs PutBack(int at) =>
        new(
            _stored.Ids[at], _stored.AcceptedAts[at], _owner, "default", 1990, Batches.Noon, 1,
            ["default", "fallback"]);

    private async Task AssertSumsAsync(long settled)
    {
        Assert.Equal(settled, await Database.ScalarAsync<long>("SELECT count(*) FROM settlements"));
        foreach (var from in new DateTime?[] { null, Batches.Noon })
        {
            var summary = await Database.SummariseAsync(from, null);
            Assert.Equal((settled, settled * 19.90m), (summary.Default.TotalRequests, summary.Default.TotalAmount));
        }
    }
}
