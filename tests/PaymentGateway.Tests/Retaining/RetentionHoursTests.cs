using PaymentGateway.Retaining;
using PaymentGateway.Storage;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Retaining;

/// <summary>A payment is old by the hours that have passed, whatever the wall clocks say meanwhile.</summary>
public sealed class RetentionHoursTests : IAsyncLifetime
{
    private const int HoursOfDay = 26;

    private static readonly TimeSpan Day = TimeSpan.FromDays(1);
    private static readonly TimeSpan Hour = TimeSpan.FromHours(1);

    // So long ago that the database's clock is ahead of all that the tests make of theirs.
    private static readonly DateTime Start = DateTime.UtcNow.Date.AddDays(-200);

    private readonly TestDatabase _database = new();
    private readonly SteppedClock _clock = new() { Now = new DateTimeOffset(Start) };
    private RetentionHours _hours = null!;
    private int _epoch;

    private RetentionStore Store => new(_database.Shared);

    public async Task InitializeAsync()
    {
        await _database.InitializeAsync();
        if (!PostgresServer.IsInstalled)
            return;
        _hours = new RetentionHours(Store, _clock);
        _epoch = await _database.OpenEpochAsync();
        await _database.ExecuteAsync("UPDATE ledger SET began_at = '-infinity'");
    }

    public Task DisposeAsync() => _database.DisposeAsync();

    [PostgresFact]
    public async Task A_payment_leaves_after_its_retention_and_a_few_hours_and_none_before()
    {
        await SettleAsync();

        await PassAsync(24);
        Assert.Equal(0, await Store.RemoveAsync(500));
        await PassAsync(4);
        Assert.Equal(1, await Store.RemoveAsync(500));

        // Each hour that begins is the next that leaves, and older ones are forgotten.
        Assert.Equal(Start.AddHours(1), await KeptFromAsync());
        await PassAsync(1);
        Assert.Equal(Start.AddHours(2), await KeptFromAsync());
        Assert.Equal(HoursOfDay, await CountAsync());
    }

    [PostgresFact]
    public async Task An_hour_that_has_not_passed_begins_none_however_often_it_is_asked_for()
    {
        await _hours.CountAsync(Day);
        for (var second = 10; second < 3_600; second += 10)
        {
            Step(TimeSpan.FromSeconds(10));
            await _hours.CountAsync(Day);
        }

        Assert.Equal(1, await CountAsync());
        Step(TimeSpan.FromSeconds(10));
        await _hours.CountAsync(Day);
        Assert.Equal(2, await CountAsync());
    }

    [PostgresTheory]
    [InlineData(1)]
    [InlineData(20)]
    public async Task While_a_clock_is_ahead_nothing_leaves_early_and_what_it_charged_leaves_later(int hoursAhead)
    {
        await PassAsync(HoursOfDay);
        await SettleAsync();
        _clock.Now += TimeSpan.FromDays(60);
        await PassAsync(hoursAhead);
        await SettleAsync();
        Assert.Equal(0, await Store.RemoveAsync(500));
        _clock.Now -= TimeSpan.FromDays(60);
        await SettleAsync();

        await PassAsync(23 - hoursAhead);
        Assert.Equal(0, await Store.RemoveAsync(500));
        Assert.InRange(await KeptFromAsync(), DateTime.MinValue, _clock.Now.UtcDateTime - Day);
        await PassAsync(hoursAhead + 6);
        Assert.Equal(2, await Store.RemoveAsync(500));
        // The one that was charged sixty days ahead.
        Assert.Equal(1, await _database.ScalarAsync<long>("SELECT count(*) FROM settlements"));
    }

    // It is a clock that jumps back, then: the border follows it, as nothing has left since.
    [PostgresFact]
    public async Task A_clock_that_was_ahead_for_longer_than_the_retention_leaves_nothing_to_put_right()
    {
        await PassAsync(HoursOfDay);
        _clock.Now += TimeSpan.FromDays(60);
        await PassAsync(2 * HoursOfDay);
        Assert.True(await KeptFromAsync() > Start.AddDays(60));
        _clock.Now -= TimeSpan.FromDays(60);
        await _hours.CountAsync(Day);
        await SettleAsync();

        Assert.Equal(0, await Store.RemoveAsync(500));
        await PassAsync(1);
        Assert.InRange(await KeptFromAsync(), Start, _clock.Now.UtcDateTime);
        await PassAsync(22);
        Assert.Equal(0, await Store.RemoveAsync(500));
        await PassAsync(6);
        Assert.Equal(1, await Store.RemoveAsync(500));
        Assert.InRange(await KeptFromAsync(), Start, _clock.Now.UtcDateTime - Day);
    }

    // In the midst of an hour, and perhaps for less than one.
    [PostgresTheory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_clock_that_jumps_back_takes_nothing_with_it_and_the_border_passes_by_nothing_that_left(
        bool isRightAgain)
    {
        await SettleAsync();
        await PassAsync(HoursOfDay + 4);
        Assert.Equal(1, await Store.RemoveAsync(500));
        await SettleAsync();
        await PassAsync(10);
        await _hours.CountAsync(Day);
        Step(Hour / 2);
        _clock.Now -= TimeSpan.FromHours(20);
        await _hours.CountAsync(Day);
        await SettleAsync();
        if (isRightAgain)
            _clock.Now += TimeSpan.FromHours(20);

        await PassAsync(24);
        Assert.Equal(0, await Store.RemoveAsync(500));
        await PassAsync(16);
        Assert.Equal(2, await Store.RemoveAsync(500));

        // By more than the retention: what left stays before the border, and no payment leaves by it.
        _clock.Now -= TimeSpan.FromDays(10);
        await SettleAsync();
        await PassAsync(1);
        Assert.True(await KeptFromAsync() > Start.AddHours(1));
        await PassAsync(2 * HoursOfDay);
        Assert.Equal(0, await Store.RemoveAsync(500));
        Assert.True(await _database.ScalarAsync<bool>("SELECT kept_from > removed_until FROM ledger"));
    }

    // Whatever the others say, a payment of this one is not old by theirs.
    [PostgresFact]
    public async Task Of_two_instances_the_clock_that_is_behind_counts_and_an_hour_of_both_is_one()
    {
        var behind = new SteppedClock { Now = new DateTimeOffset(Start.AddDays(-3)) };
        var other = new RetentionHours(Store, behind);
        for (var hour = 0; hour < HoursOfDay + 4; hour++)
        {
            await Task.WhenAll(_hours.CountAsync(Day), other.CountAsync(Day));
            Step(Hour);
            behind.Now += Hour;
            behind.Elapsed += Hour;
        }

        Assert.InRange(await NewestAsync(), HoursOfDay, HoursOfDay + 4);
        Assert.InRange(await KeptFromAsync(), Start.AddDays(-4), Start.AddDays(-3).AddHours(4));
        // One that comes later begins to wait when it comes: no hour is shorter for it.
        var newest = await NewestAsync();
        var third = new RetentionHours(Store, behind);
        await third.CountAsync(Day);
        await third.CountAsync(Day);
        Assert.Equal(newest, await NewestAsync());
    }

    [PostgresFact]
    public async Task After_a_restart_the_hour_begins_anew_and_those_before_it_count()
    {
        await PassAsync(HoursOfDay - 2);
        var before = await NewestAsync();
        Step(Hour / 2);
        _hours = new RetentionHours(Store, _clock);
        await _hours.CountAsync(Day);
        Step(Hour / 2);
        await _hours.CountAsync(Day);
        Assert.Equal(before, await NewestAsync());

        // A day's pause is an hour at most, too.
        Step(Day);
        _hours = new RetentionHours(Store, _clock);
        await PassAsync(4);
        Assert.InRange(await NewestAsync(), before + 3, before + 4);
        Assert.InRange(await KeptFromAsync(), Start, Start.AddHours(4));
    }

    // Its numbers begin again, and an instance that knew the old ones waits anew.
    [PostgresFact]
    public async Task After_a_crash_that_emptied_the_hours_nothing_leaves_until_as_many_have_passed_again()
    {
        await PassAsync(HoursOfDay + 4);
        await SettleAsync();
        await _database.ExecuteAsync("TRUNCATE retention_hours, ledger_intact");
        await _database.LedgerState.MarkResetAsync();

        await PassAsync(HoursOfDay - 1);
        Assert.Equal(default, (await _database.LedgerState.StateAsync()).KeptFrom);
        Assert.Equal(0, await Store.RemoveAsync(500));
        await PassAsync(4);
        Assert.Equal(1, await Store.RemoveAsync(500));
    }

    [PostgresFact]
    public async Task An_instance_that_is_ahead_of_the_database_does_not_count_as_ahead()
    {
        _clock.Now = DateTimeOffset.UtcNow.AddDays(3_650);
        await PassAsync(HoursOfDay + 4);

        Assert.InRange(await KeptFromAsync(), DateTime.UtcNow.AddDays(-1), DateTime.UtcNow);
    }

    // A longer retention than before has to be counted, too.
    [PostgresFact]
    public async Task With_a_longer_retention_nothing_more_leaves_until_it_has_passed()
    {
        await PassAsync(HoursOfDay + 4);
        var before = await KeptFromAsync();

        await PassAsync(10, 2 * Day);
        Assert.Equal(before, await KeptFromAsync());
        await PassAsync(24, 2 * Day);
        Assert.True(await KeptFromAsync() > before);
    }

    // The instance looks at its clock as each hour begins, and just before it ends.
    private async Task PassAsync(int hours, TimeSpan? retention = null)
    {
        for (var hour = 0; hour < hours; hour++)
        {
            await _hours.CountAsync(retention ?? Day);
            Step(Hour - TimeSpan.FromSeconds(10));
            await _hours.CountAsync(retention ?? Day);
            Step(TimeSpan.FromSeconds(10));
        }
    }

    private void Step(TimeSpan time)
    {
        _clock.Now += time;
        _clock.Elapsed += time;
    }

    // By this instance's wall clock.
    private async Task SettleAsync()
    {
        var batch = Batches.ToStore(Batches.SortedIds(1), _epoch, _clock.Now.UtcDateTime);
        Assert.Equal(1, await _database.Payments.StoreAsync(batch));
        Assert.Equal(
            1, await _database.Ledger.RecordAsync(Batches.ToRecord(batch, requestedAt: batch.AcceptedAts[0])));
    }

    private async Task<DateTime> KeptFromAsync() => (await _database.LedgerState.StateAsync()).KeptFrom;

    private Task<long> CountAsync() => _database.ScalarAsync<long>("SELECT count(*) FROM retention_hours");

    private Task<long> NewestAsync() => _database.ScalarAsync<long>("SELECT max(hour) FROM retention_hours");
}
