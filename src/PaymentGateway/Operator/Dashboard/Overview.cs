using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Dashboard;

/// <summary>What the page shows of all instances in one second.</summary>
/// <param name="Database">False: PostgreSQL did not answer in time; the ledger and other instances are missing.</param>
/// <param name="LedgerReset">A crash of the database has emptied the ledger.</param>
internal sealed record Overview(
    DateTime At, string AnsweredBy, bool Database, bool LedgerReset, bool TokenNeeded, double AcceptedPerSecond,
    double SettledPerSecond, Durations Accepts, BacklogView Backlog, int InDoubt, ParkedView? Parked,
    ProcessorView[] Processors, InstanceView[] Instances, WebhookView[] FailingWebhooks, PayerReading[] Payers);

/// <summary>Percentiles in milliseconds; null when nothing was measured.</summary>
internal sealed record Durations(double? P50, double? P99);

/// <summary>Payments that are not settled; with IsMore further ones wait in the table.</summary>
internal sealed record BacklogView(int Payments, bool IsMore, double OldestSeconds);

/// <summary>Parked payments by reason, most first; with IsMore newer ones are not counted.</summary>
internal sealed record ParkedView(long Payments, bool IsMore, ParkedCountRow[] Reasons);

/// <summary>One processor, as seen by the instances that have called it recently; if none has, by all.</summary>
/// <param name="Report">Null until one is read.</param>
/// <param name="ReportIsOverdue">The next report is missing, so this one is out of date.</param>
/// <param name="Settled">Null while PostgreSQL does not answer.</param>
/// <param name="Unreadable">An answer to a look-up of any instance could not be read lately.</param>
internal sealed record ProcessorView(
    string Name, string Circuit, string Availability, double ExpectedMilliseconds, int InFlight,
    double CallsPerSecond, Durations Calls, HealthRow? Report, bool ReportIsOverdue, SettledView? Settled,
    bool Unreadable);

/// <summary>Money is text, because a script would lose digits.</summary>
internal sealed record SettledView(long Payments, string Amount, string Fees, decimal FeeRate);

/// <summary>One instance; a silent one has written no reading for as long as a lease lasts.</summary>
internal sealed record InstanceView(int Epoch, double AgeSeconds, bool IsSilent, InstanceReading Reading);

internal sealed record WebhookView(string Name, double Seconds, string? Failure);

internal sealed record SharedFacts(
    List<ReadingRow> Readings, List<TotalsRow> Totals, List<HealthRow> Reports, List<ParkedCountRow> Parked,
    List<WebhookRow> Webhooks);

[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase, Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(Overview))]
internal sealed partial class DashboardJsonContext : JsonSerializerContext;
