using Npgsql;
using PaymentGateway.Storage;

namespace PaymentGateway.Tests.Support;

/// <summary>
/// Warms a pool of leases: its statements have 800 ms, and on a busy machine the first one may not connect within them.
/// </summary>
internal static class AnsweringLeases
{
    /// <summary>Whether a statement that changes nothing is answered in time.</summary>
    public static async Task<bool> AnswersAsync(this LeaseStore leases)
    {
        try
        {
            await leases.CloseAsync(int.MaxValue);
            return true;
        }
        catch (Exception notYet) when (notYet is NpgsqlException or TimeoutException)
        {
            return false;
        }
    }
}
