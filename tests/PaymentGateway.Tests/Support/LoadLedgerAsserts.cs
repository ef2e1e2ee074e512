namespace PaymentGateway.Tests.Support;

/// <summary>What a test asks of a load as a whole.</summary>
public static class LoadLedgerAsserts
{
    /// <summary>Fails unless every payment was acknowledged at the first attempt.</summary>
    public static void NoClientSawAnError(this LoadLedger ledger)
    {
        var others = ledger.Entries
            .Where(entry => entry.Outcome != LoadOutcome.Acknowledged || entry.Attempts > 1).ToList();
        Assert.True(
            others.Count == 0,
            $"{others.Count} of {ledger.Count} clients saw an error, such as:\n{string.Join('\n', others.Take(5))}");
    }
}
