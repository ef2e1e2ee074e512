using System.Data.Common;
using PaymentGateway.Storage;

namespace PaymentGateway.Settling;

/// <summary>How many payments are parked, for a gauge that may not wait for the database. Any thread.</summary>
internal sealed class ParkedCount(ParkedStore store)
{
    /// <summary>It counts no further, however many there are.</summary>
    public const int CountMax = 10_000;

    private const long NotAsked = -1;

    private long _latest = NotAsked;
    private int _asking;

    /// <summary>As the database last said, and has it asked again; null until its first answer.</summary>
    public long? Read()
    {
        if (Interlocked.Exchange(ref _asking, 1) == 0)
            _ = AskAsync();
        return Interlocked.Read(ref _latest) is >= 0 and var latest ? latest : null;
    }

    private async Task AskAsync()
    {
        try
        {
            var reasons = await store.CountAsync(CountMax);
            Interlocked.Exchange(ref _latest, reasons.Sum(reason => reason.Payments));
        }
        catch (Exception unavailable) when (unavailable is DbException or TimeoutException)
        {
            // It is asked again at the next call.
        }
        finally
        {
            Volatile.Write(ref _asking, 0);
        }
    }
}
