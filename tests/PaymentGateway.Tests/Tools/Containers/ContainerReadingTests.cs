using PaymentGateway.Tools.Containers;

namespace PaymentGateway.Tests.Tools.Containers;

/// <summary>What is read from Docker's answers, and from psql's rows.</summary>
public sealed class ContainerReadingTests
{
    [Fact]
    public void The_state_of_a_running_container_is_read()
    {
        var state = ContainerState.Parse("abc 2 417 running healthy\n");

        Assert.Equal(("abc", 2, 417), (state.Id, state.RestartCount, state.Pid));
        Assert.True(state.IsHealthy);
        Assert.False(state.IsDown);
    }

    [Fact]
    public void The_state_of_a_terminated_container_without_a_health_check_is_read()
    {
        var state = ContainerState.Parse("abc 0 0 exited \n");

        Assert.True(state.IsDown);
        Assert.False(state.IsHealthy);
    }

    [Fact]
    public void Rows_of_the_ledger_are_read_to_the_microsecond()
    {
        var rows = ComposeStack.ParseSettlements(["2 11111111-1111-4111-8111-111111111111 1990 1763877600000001"]);

        var (id, entry) = Assert.Single(rows);
        Assert.Equal(Guid.Parse("11111111-1111-4111-8111-111111111111"), id);
        Assert.Equal(
            new LedgerEntry(2, 19.90m, DateTime.UnixEpoch.AddSeconds(1_763_877_600).AddMicroseconds(1)), entry);
    }

    [Fact]
    public void A_summary_must_equal_the_expected_one_byte_for_byte()
    {
        var stores = new ProcessorStores([Stored(1.1m), Stored(2m)], []);

        Assert.Equal(
            """{"default":{"totalRequests":2,"totalAmount":3.10},"fallback":{"totalRequests":0,"totalAmount":0.00}}""",
            stores.Summary);
    }

    [Fact]
    public void Payments_of_terminated_simulators_are_counted()
    {
        var stores = new ProcessorStores([Stored(1m)], []).With(new ProcessorStores([Stored(2m)], [Stored(3m)]));

        Assert.Equal((2, 1), (stores.Default.Count, stores.Fallback.Count));
    }

    private static ProcessorPayment Stored(decimal amount) => new(Guid.NewGuid(), amount, DateTimeOffset.UtcNow);
}
