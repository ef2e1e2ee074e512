namespace PaymentGateway.Tests.Support;

internal static class LeaseStoreAnswers
{
    /// <summary>The unsettled payments of a page, moved to a new owner; none when nothing was searched.</summary>
    public static async Task<List<StoredPayment>> AdoptAsync(this AdoptionStore adoptions, AdoptArgs page) =>
        (await adoptions.AdoptPageAsync(page))?.Payments.ConvertAll(row => row.Stored) ?? [];

    /// <summary>Waits until a connection of the leases answers: a statement has no time to open one.</summary>
    public static Task AnswersAsync(this LeaseStore leases) => Eventually.HoldsAsync(
        async () =>
        {
            try
            {
                // No epoch has this number.
                await leases.CloseAsync(int.MaxValue);
                return true;
            }
            catch (Exception notYet) when (notYet is NpgsqlException or TimeoutException)
            {
                return false;
            }
        },
        "the connections of the leases answer");
}
