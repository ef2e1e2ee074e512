using PaymentGateway.Http;
using PaymentGateway.Storage;

namespace PaymentGateway.Dashboard;

/// <summary>What the page shows of all instances in one second.</summary>
/// <param name="At">UTC.</param>
/// <param name="AnsweredBy">The instance that sends it.</param>
/// <param name="Database">
/// False: PostgreSQL did not answer in time, so only that instance is shown, and nothing of the ledger.
/// </param>
/// <param name="LedgerReset">A crash of the database has emptied the ledger.</param>
/// <param name="TokenNeeded">So there is a session to end.</param>
internal sealed record Overview(
    DateTime At, string AnsweredBy, bool Database, bool LedgerReset, bool TokenNeeded, double AcceptedPerSecond,
    double SettledPerSecond, Durations Accepts, BacklogView Backlog, int InDoubt, ParkedView? Parked,
    ProcessorView[] Processors, InstanceView[] Instances);

/// <summary>Percentiles in milliseconds; null when nothing was measured.</summary>
internal sealed record Durations(double? P50, double? P99);

/// <summary>Payments that are not settled; with IsMore further ones wait in the table.</summary>
internal sealed record BacklogView(int Payments, bool IsMore, double OldestSeconds);

/// <summary>Parked payments by reason, most first; with IsMore there are others, newer ones.</summary>
internal sealed record ParkedView(long Payments, bool IsMore, ParkedCountRow[] Reasons);

/// <summary>One processor as the instances see it that have called it lately, or else as all do.</summary>
/// <param name="Report">Null: none was read yet.</param>
/// <param name="Settled">Null while PostgreSQL does not answer.</param>
internal sealed record ProcessorView(
    string Name, string Circuit, string Availability, double ExpectedMilliseconds, int InFlight,
    double CallsPerSecond, Durations Calls, ReportView? Report, SettledView? Settled);

/// <summary>A processor's own health report.</summary>
/// <param name="IsOverdue">The report after it is missing, so it says nothing of now.</param>
internal sealed record ReportView(bool Failing, int MinResponseMilliseconds, double AgeSeconds, bool IsOverdue);

/// <summary>
/// What a processor has settled of this ledger, and its fees. Money is text, so that no digit is lost on the way.
/// </summary>
internal sealed record SettledView(long Payments, string Amount, string Fees, decimal FeeRate);

/// <summary>One instance; the lease of a silent one has expired.</summary>
internal sealed record InstanceView(
    string Name, int Epoch, bool IsSilent, double AgeSeconds, bool LeaseHeld, double AcceptedPerSecond,
    double SettledPerSecond, int Unsettled, int InDoubt, long MemoryBytes, string[] Circuits);

/// <summary>What PostgreSQL knows of all.</summary>
internal sealed record SharedFacts(
    List<ReadingRow> Readings, List<TotalsRow> Totals, List<HealthRow> Reports, List<ParkedCountRow> Parked);

/// <summary>What the page is sent.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(Overview))]
internal sealed partial class DashboardJsonContext : JsonSerializerContext;
