namespace PaymentGateway.Tests.Storage;

public sealed class HealthStoreTests : OwnDatabase
{
    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(5);

    [PostgresFact]
    public async Task Of_many_instances_exactly_one_polls_a_processor_in_an_interval()
    {
        for (var round = 0; round < 20; round++)
        {
            await Database.ExecuteAsync("UPDATE processor_health SET polled_at = now() - interval '5.1 seconds'");

            var claims = await Task.WhenAll(Enumerable.Range(0, 20).Select(_ => Task.Run(ClaimAsync)));

            Assert.Equal("default fallback", string.Join(' ', claims.SelectMany(claim => claim).Order()));
        }
    }

    [PostgresFact]
    public async Task A_poll_is_due_at_first_and_then_when_the_interval_is_over()
    {
        Assert.Equal("default fallback", string.Join(' ', (await ClaimAsync()).Order()));
        Assert.Empty(await ClaimAsync());

        await Database.ExecuteAsync("UPDATE processor_health SET polled_at = polled_at - interval '4 seconds'");
        Assert.Empty(await ClaimAsync());
        await Database.ExecuteAsync(
            "UPDATE processor_health SET polled_at = polled_at - interval '1.1 seconds' WHERE processor = 'fallback'");

        Assert.Equal("fallback", Assert.Single(await ClaimAsync()));
    }

    [PostgresFact]
    public async Task A_processor_whose_row_is_missing_is_polled_after_the_next_registration()
    {
        await Database.ExecuteAsync("DELETE FROM processor_health");
        Assert.Empty(await ClaimAsync());

        await Database.Leases.RegisterAsync(["default", "fallback"]);

        Assert.Equal("default fallback", string.Join(' ', (await ClaimAsync()).Order()));
    }

    [PostgresFact]
    public async Task A_health_report_is_read_by_all_instances_with_its_age()
    {
        await Database.Health.PublishAsync(new HealthArgs("fallback", true, 1234));
        await Database.ExecuteAsync(
            "UPDATE processor_health SET observed_at = observed_at - interval '3 s' WHERE processor = 'fallback'");

        var rows = await Database.Health.ReadAsync();

        var report = Assert.Single(rows, row => row.Processor == "fallback");
        Assert.Equal((true, 1234), (report.Failing, report.MinResponseMs));
        Assert.InRange(report.AgeSeconds, 3, 60);
        Assert.True(Assert.Single(rows, row => row.Processor == "default").AgeSeconds > 1e8, "never reported");
    }

    [PostgresFact]
    public async Task A_poll_is_due_when_the_last_one_is_in_the_future_and_a_report_from_there_is_not_fresh()
    {
        await ClaimAsync();
        await Database.Health.PublishAsync(new HealthArgs("fallback", true, 1234));
        await Database.ExecuteAsync(
            "UPDATE processor_health "
            + "SET polled_at = now() + interval '1 hour', observed_at = now() + interval '1 hour'");

        Assert.All(await Database.Health.ReadAsync(), row => Assert.True(row.AgeSeconds > 1e8, $"{row}"));
        Assert.Equal("default fallback", string.Join(' ', (await ClaimAsync()).Order()));
        Assert.Empty(await ClaimAsync());
    }

    private async Task<IEnumerable<string>> ClaimAsync() =>
        await Database.Health.ClaimAsync(["default", "fallback"], Interval);
}
