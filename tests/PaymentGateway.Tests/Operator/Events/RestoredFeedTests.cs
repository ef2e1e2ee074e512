using PaymentGateway.Operator.Events;

namespace PaymentGateway.Tests.Operator.Events;

/// <summary>The feed of a ledger that is restored, on the same server and on another one.</summary>
public sealed class RestoredFeedTests : IAsyncLifetime
{
    private static readonly string[] Both = ["default", "fallback"];
    private static readonly DateTime Month = DateTime.UtcNow.AddDays(-40);

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("payment-gateway-restored");
    private readonly OwnServerDatabase _old = new();
    private readonly OwnServerDatabase _new = new();

    public Task InitializeAsync() => _old.InitializeAsync();

    public async Task DisposeAsync()
    {
        await _old.DisposeAsync();
        if (PostgresServer.IsInstalled && _new.Source is not null)
            await _new.DisposeAsync();
        _folder.Delete(recursive: true);
    }

    // The other server has given fewer transaction ids. With a retention its ids are behind forgotten_by, too.
    [PostgresTheory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task On_another_server_nothing_is_lost_and_nothing_old_comes_as_new(bool hasForgotten)
    {
        await SpendTransactionsAsync(_old, 2_000);
        var epoch = await _old.OpenEpochAsync();
        if (hasForgotten)
        {
            await SettleAsync(_old, epoch, Month);
            await _old.ExecuteAsync("UPDATE settlements SET recorded_at = requested_at");
            Assert.Equal(1, await new RetentionStore(_old.Shared).RemoveAsync(
                DateTime.UtcNow, TimeSpan.FromDays(30), 10));
        }

        var reader = new FeedReader(_old);
        var before = new[] { await SettleAsync(_old, epoch), await SettleAsync(_old, epoch) };
        Assert.Equal(before, await reader.ReadAsync(2));
        var undelivered = await SettleAsync(_old, epoch);

        await RestoreAsync(_old, _new);
        epoch = await _new.OpenEpochAsync();
        var moved = new FeedReader(_new) { At = reader.At };
        Assert.Equal([undelivered], await moved.ReadAsync(1));
        var first = await SettleAsync(_new, epoch);
        Assert.Equal([first], await moved.ReadAsync(1));
        await SpendTransactionsAsync(_new, 4_000);
        Assert.Empty(await moved.ReadAsync());
        var second = await SettleAsync(_new, epoch);

        Assert.Equal([second], await moved.ReadAsync(1));
        Assert.Equal([.. before, undelivered, first, second], await new FeedReader(_new).ReadAsync(5));
    }

    // Two instances open their first leases at once, and later ones follow: the positions are moved on once.
    [PostgresFact]
    public async Task The_first_lease_on_another_server_moves_positions_on_once()
    {
        await _old.OpenEpochAsync();
        Assert.Equal(0, await OffsetAsync(_old));
        await RestoreAsync(_old, _new);

        await Task.WhenAll(_new.OpenEpochAsync(), _new.OpenEpochAsync());

        var offset = await OffsetAsync(_new);
        Assert.InRange(offset, 1_000_000, long.MaxValue);
        await _new.OpenEpochAsync();
        Assert.Equal(offset, await OffsetAsync(_new));
    }

    // An endpoint goes on where the backup has it, and what it gets again has the id of before.
    [PostgresFact]
    public async Task On_the_same_server_an_endpoint_goes_on_and_a_payment_that_settles_again_has_its_event_again()
    {
        var epoch = await _old.OpenEpochAsync();
        var reader = new FeedReader(_old);
        await SettleAsync(_old, epoch);
        await reader.ReadAsync(1);
        await _old.ExecuteAsync($"INSERT INTO webhooks (name, position) VALUES ('shop', '{reader.At}')");
        var undelivered = await SettleAsync(_old, epoch);
        var waits = await _old.StoreAsync(epoch, 1);
        await DumpAsync(_old);
        await _old.Ledger.RecordAsync(Batches.ToRecord(waits));
        var told = (await reader.ReadRowsAsync(2)).ConvertAll(row => EventAnswer.Of(row).Id);

        await RestoreAsync(_old);
        await _old.Restore.DoubtAllAsync(Both);
        await _old.Ledger.RecordAsync(Batches.ToRecord(waits));

        var position = await _old.ScalarAsync<string>("SELECT position FROM webhooks");
        var endpoint = new FeedReader(_old) { At = EventCursor.TryRead(position) };
        var rows = await endpoint.ReadRowsAsync(2);
        Assert.Equal([undelivered, $"settled {waits.Ids[0]}"], rows.Select(row => $"{row.Kind} {row.CorrelationId}"));
        Assert.Equal(told, rows.ConvertAll(row => EventAnswer.Of(row).Id));
    }

    // A purge by mistake, the backup of before it, and `restored`: the reader of the purged ledger has not seen what is
    // back.
    [PostgresFact]
    public async Task A_position_of_the_lost_ledger_is_refused_although_it_was_purged_as_often()
    {
        var epoch = await _old.OpenEpochAsync();
        await SettleAsync(_old, epoch);
        await DumpAsync(_old);
        await _old.PurgeAsync();
        var reader = new FeedReader(_old);
        await SettleAsync(_old, epoch);
        await reader.ReadAsync(1);

        await RestoreAsync(_old);
        await _old.Restore.DoubtAllAsync(Both);

        Assert.Null(await reader.PageAsync());
    }

    // A base backup: the server gives transaction ids again that readers have passed.
    [PostgresFact]
    public async Task After_a_return_to_an_earlier_time_new_events_are_behind_every_position_of_the_lost_time()
    {
        var epoch = await _old.OpenEpochAsync();
        var kept = await SettleAsync(_old, epoch);
        var data = Path.Combine(_old.Server.Directory, "data");
        await _old.Server.StopAsync();
        await ShellAsync($"cp -a {data} {data}.kept");
        await _old.StartAgainAsync();
        await _old.ReopenBatchesAsync("");
        await SpendTransactionsAsync(_old, 2_000);
        await SettleAsync(_old, epoch);
        var lost = new FeedReader(_old);
        await lost.ReadAsync(2);

        await _old.Server.StopAsync();
        await ShellAsync($"rm -rf {data} && mv {data}.kept {data}");
        await _old.StartAgainAsync();
        await _old.ReopenBatchesAsync("");
        await _old.Restore.DoubtAllAsync(Both);
        epoch = await _old.OpenEpochAsync();
        var settled = await SettleAsync(_old, epoch);

        var reader = new FeedReader(_old);
        var rows = await reader.ReadRowsAsync(2);
        Assert.Equal([kept, settled], rows.Select(row => $"{row.Kind} {row.CorrelationId}"));
        Assert.InRange(rows[1].Transaction, lost.At!.Transaction + 1, long.MaxValue);
    }

    private static async Task<string> SettleAsync(TestDatabase database, int epoch, DateTime? requestedAt = null)
    {
        var batch = await database.StoreAsync(epoch, 1, requestedAt);
        await database.Ledger.RecordAsync(Batches.ToRecord(batch, requestedAt: requestedAt));
        return $"settled {batch.Ids[0]}";
    }

    private static Task<long> OffsetAsync(TestDatabase database) =>
        database.ScalarAsync<long>("SELECT position_offset FROM ledger");

    // Otherwise statements with a snapshot of before would see every id as one that runs.
    private static Task SpendTransactionsAsync(TestDatabase database, int count) => database.ExecuteAsync($"""
        DO $$ BEGIN
            FOR one IN 1..{count} LOOP
                PERFORM pg_current_xact_id();
                COMMIT;
            END LOOP;
        END $$
        """);

    private async Task RestoreAsync(TestDatabase from, TestDatabase to)
    {
        await DumpAsync(from);
        await to.InitializeAsync();
        await RestoreAsync(to);
    }

    private Task DumpAsync(TestDatabase database) => RunAsync(database, "pg_dump", "-Fc", "-f", Backup);

    private async Task RestoreAsync(TestDatabase database)
    {
        await RunAsync(
            database, "pg_restore", "--clean", "--if-exists", "--single-transaction", Backup, "-d");
        // Plans of tables that are gone.
        database.Source.Clear();
    }

    private string Backup => Path.Combine(_folder.FullName, "backup");

    private static async Task RunAsync(TestDatabase database, string program, params string[] options)
    {
        var server = new NpgsqlConnectionStringBuilder(database.ConnectionString);
        var run = await ProgramRun.RunAsync(
            [
                Path.Combine(PostgresServer.Binaries!, program), "-h", server.Host!, "-U", server.Username!,
                .. options, server.Database!,
            ]);
        Assert.True(run.ExitCode == 0, $"{program}: {run.Errors}");
    }

    private static async Task ShellAsync(string script)
    {
        var run = await ProgramRun.RunAsync(["sh", "-ec", script]);
        Assert.True(run.ExitCode == 0, run.Errors);
    }
}
