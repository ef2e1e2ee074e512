using Npgsql;
using PaymentGateway.Storage;

namespace PaymentGateway.Tests.Support;

/// <summary>Waits for the connections of the leases, whose statements have less than a second.</summary>
internal static class LeaseStoreAnswers
{
    /// <summary>Waits until there is one that answers: the next statement need not open it.</summary>
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
