using System.CommandLine;
using Microsoft.Extensions.Logging.Abstractions;
using PaymentGateway.Hosting;
using PaymentGateway.Storage;

namespace PaymentGateway.Cli;

/// <summary>
/// `migrate`: brings the tables to this version, as a start does, without starting. `restored`: the same for a ledger
/// from a backup, which it makes safe to start on.
/// </summary>
internal static class MigrateVerb
{
    // A start has 5 s, because clients wait for it; a large table may need more.
    private const int CommandSeconds = 3_600;

    private static readonly Option<string> Ledger = GatewayVerb.Text(
        "--ledger", "The connection string; default: the setting ConnectionStrings__Ledger.", "string");

    private static readonly Option<string> Profile = GatewayVerb.Text(
        "--profile", "Unlogged or Durable; default: the setting Gateway__Storage__Profile, or Durable.", "profile");

    private static readonly Option<string[]> Also = new("--also")
    {
        Description = "A processor that no instance of the backup has; every unsettled payment waits for its answer.",
        HelpName = "name",
    };

    public static Command Create() => Create(
        "migrate", "Bring the tables to this version; instances of the earlier one may run on.", restored: false);

    public static Command CreateRestored() => Create(
        "restored", "Make a ledger that was restored from a backup safe, before the first start.", restored: true);

    private static Command Create(string name, string description, bool restored)
    {
        var verb = new Command(name, description) { Ledger, Profile, Report.Json };
        if (restored)
            verb.Add(Also);
        verb.SetAction(async (ParseResult parsed, CancellationToken _) =>
            await (await RunAsync(parsed, restored)).WriteAsync(parsed));
        return verb;
    }

    private static async Task<Report> RunAsync(ParseResult parsed, bool restored)
    {
        var given = new List<string>();
        if (parsed.GetValue(Ledger) is { } ledger)
            given.Add($"--ConnectionStrings:Ledger={ledger}");
        if (parsed.GetValue(Profile) is { } profile)
            given.Add($"--Gateway:Storage:Profile={profile}");
        var settings = new SettingsReader(HostSetup.ReadSettings([.. given]));
        var (connectionString, durable, _, _) = LedgerOptions.Read(settings);
        var processors = restored ? ProcessorsOptions.Read(settings, SettlingOptions.Read(settings)).Names : [];

        await using var connections = LedgerSetup.Shared(
            LedgerSetup.DataSource(
                $"{connectionString};Multiplexing=false;Command Timeout={CommandSeconds}", synchronousCommit: durable),
            TimeProvider.System);
        try
        {
            var applied = await new SchemaSetup(
                connections, Migration.All, durable, NullLogger<SchemaSetup>.Instance).EnsureAsync();
            var report = new JsonObject
            {
                ["version"] = Migration.All.Count,
                ["applied"] = new JsonArray([.. applied.Select(migration => JsonValue.Create(migration.Name))]),
            };
            if (restored)
            {
                var restore = new RestoreStore(connections, new LeaseStore(connections, connections));
                var known = await restore.ConfiguredAsync();
                known.UnionWith(parsed.GetValue(Also) ?? []);
                // Nobody answers for a processor that was given up: its doubts would never end.
                if (known.Count > 0 && processors.FirstOrDefault(one => !known.Contains(one)) is { } gone)
                    throw new VerbException(
                        ExitCodes.WrongSetting,
                        $"Gateway__Processors: no instance of the backup has '{gone}', and every unsettled payment "
                            + $"would wait until it answers; if the lost ledger used it, say so by --also {gone}");

                report["epochs"] = await restore.DoubtAllAsync(processors);
            }

            return new Report(report);
        }
        catch (PostgresException busy) when (busy.SqlState == PostgresErrorCodes.LockNotAvailable)
        {
            throw new VerbException(ExitCodes.Unavailable, $"a table stayed in use, try again: {busy.MessageText}");
        }
        catch (Exception failed) when (failed is DbException or TimeoutException)
        {
            throw new VerbException(ExitCodes.Unavailable, $"PostgreSQL: {failed.Message}");
        }
    }
}
