using System.Globalization;
using PaymentGateway.Tools.Comparing;

namespace PaymentGateway.Tools.Containers;

/// <summary>The gateway's ledger as psql prints it: processor, id, cents, microseconds since 1970.</summary>
public static class SettlementRows
{
    public static Dictionary<Guid, LedgerEntry> Parse(IEnumerable<string> rows) =>
        rows.Select(row => row.Split(' ')).ToDictionary(fields => Guid.Parse(fields[1]), Entry);

    private static LedgerEntry Entry(string[] fields) => new(
        short.Parse(fields[0], CultureInfo.InvariantCulture), Number(fields[2]) / 100m,
        DateTime.UnixEpoch.AddTicks(Number(fields[3]) * TimeSpan.TicksPerMicrosecond));

    private static long Number(string text) => long.Parse(text, CultureInfo.InvariantCulture);
}
