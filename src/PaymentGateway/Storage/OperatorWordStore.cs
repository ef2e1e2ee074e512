namespace PaymentGateway.Storage;

/// <summary>An operator's word that a processor has not charged the payments in doubt there.</summary>
internal sealed class OperatorWordStore(SharedConnections shared)
{
    private const string SaySql = "UPDATE processors SET not_charged = not_charged + 1 WHERE name = @Name";

    private const string WordsSql = "SELECT id, not_charged AS count FROM processors";

    /// <returns>False where the ledger has no such processor.</returns>
    public async Task<bool> SayNotChargedAsync(string name) => await shared.RunAsync(
        db => db.ExecuteAsync(SaySql, new { Name = name })) > 0;

    public Task<List<WordRow>> WordsAsync() => shared.ListAsync(db => db.QueryAsync<WordRow>(WordsSql));
}

/// <summary>How often an operator has said it of the processor with this id.</summary>
internal sealed record WordRow(short Id, int Count);
