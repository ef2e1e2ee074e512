namespace PaymentGateway.Tests.Storage;

public sealed class OperatorActionStoreTests(TestDatabase database) : IClassFixture<TestDatabase>
{
    [PostgresTheory]
    [InlineData("UPDATE operator_actions SET actor = 'nobody'")]
    [InlineData("DELETE FROM operator_actions")]
    [InlineData("TRUNCATE operator_actions")]
    public async Task A_change_is_refused_by_the_database(string change)
    {
        var actions = new OperatorActionStore(database.Shared);
        await actions.AddAsync(new OperatorAction("api1", "alice", "POST /purge-payments", "", "200", "local"));

        var refused = await Assert.ThrowsAsync<PostgresException>(() => database.ExecuteAsync(change));

        Assert.Equal("operator_actions is append-only", refused.MessageText);
        Assert.Equal("alice", (await actions.PageAsync(long.MaxValue, 1)).Single().Actor);
    }
}
