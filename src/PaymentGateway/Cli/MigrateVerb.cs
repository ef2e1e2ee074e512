using System.CommandLine;
using Microsoft.Extensions.Logging.Abstractions;
using PaymentGateway.Hosting;
using PaymentGateway.Storage;

namespace PaymentGateway.Cli;

/// <summary>`migrate`: brings the tables to this version, as a start does, without starting.</summary>
internal static class MigrateVerb
{
    // A start has 5 s, because clients wait for it; a large table may need more.
    private const int CommandSeconds = 3_600;

    private static readonly Option<string> Ledger = GatewayVerb.Text(
        "--ledger", "The connection string; the setting ConnectionStrings__Ledger.", "string");

    private static readonly Option<string> Profile = GatewayVerb.Text(
        "--profile", "Unlogged or Durable; the setting Gateway__Storage__Profile, or Durable.", "profile");

    public static Command Create()
    {
        var migrate = new Command("migrate", "Brings the tables to this version; the earlier one may run meanwhile.")
        {
            Ledger, Profile, GatewayVerb.Json,
        };
        migrate.SetAction(static async (ParseResult parsed, CancellationToken _) =>
            await (await RunAsync(parsed)).WriteAsync(parsed));
        return migrate;
    }

    private static async Task<Report> RunAsync(ParseResult parsed)
    {
        var given = new List<string>();
        if (parsed.GetValue(Ledger) is { } ledger)
            given.Add($"--ConnectionStrings:Ledger={ledger}");
        if (parsed.GetValue(Profile) is { } profile)
            given.Add($"--Gateway:Storage:Profile={profile}");
        var (connectionString, durable, _, _) = LedgerOptions.Read(
            new SettingsReader(GatewayApp.ReadSettings([.. given])));

        await using var connections = LedgerSetup.Shared(
            LedgerSetup.DataSource($"{connectionString};Multiplexing=false;Command Timeout={CommandSeconds}"),
            TimeProvider.System);
        try
        {
            var applied = await new SchemaSetup(connections, durable, NullLogger<SchemaSetup>.Instance).EnsureAsync();
            return new Report(new JsonObject
            {
                ["version"] = Migration.All.Count,
                ["applied"] = new JsonArray([.. applied.Select(migration => JsonValue.Create(migration.Name))]),
            });
        }
        catch (PostgresException busy) when (busy.SqlState == PostgresErrorCodes.LockNotAvailable)
        {
            throw new VerbException(ExitCodes.Unavailable, $"a table is in use all the time: {busy.MessageText}");
        }
        catch (Exception failed) when (failed is DbException or TimeoutException)
        {
            throw new VerbException(ExitCodes.Unavailable, $"PostgreSQL: {failed.Message}");
        }
    }
}
