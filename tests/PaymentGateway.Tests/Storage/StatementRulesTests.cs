using System.Reflection;

namespace PaymentGateway.Tests.Storage;

/// <summary>The rules that keep a ledger of several servers possible, as far as a machine can check them.</summary>
public sealed class StatementRulesTests(TestDatabase database) : IClassFixture<TestDatabase>
{
    private static readonly Regex Distribution = new(@"create_distributed_table\('(\w+)', '(\w+)'");
    private static readonly Regex OfOneServer = new(
        @"\b(LISTEN|NOTIFY|pg_notify|force_generic_plan|pg_(try_)?advisory\w*)\b");
    private static readonly Regex ClockInConflict = new(@"\bDO UPDATE\b.*\b(now|clock_timestamp) \(");
    private static readonly Regex LockedRows = new(@"\bFOR (UPDATE|NO KEY UPDATE|SHARE|KEY SHARE)\b");
    private static readonly Regex NoColumns = new(@"\bSELECT FROM\b");
    private static readonly Regex Choice = new(@"\bCASE\b.*?\bEND\b|\b(?i:coalesce) \(\d+\)");
    private static readonly Regex Lateral = new(@"\bLATERAL \(\d+\)");
    private static readonly Regex Page = new(@"\b(LIMIT|FETCH)\b");
    private static readonly Regex EventInsert = new(@"\bINSERT INTO (?:settlements|payment_events)\s*\(([^)]*)\)");
    private static readonly Regex Given = new(@"\bFROM unnest \(\d+\) AS (\w+)");

    private static readonly Dictionary<string, string> Distributed = Distribution
        .Matches(File.ReadAllText(Repository.PathOf("postgres", "citus.sql")))
        .ToDictionary(match => match.Groups[1].Value, match => match.Groups[2].Value);

    private static readonly string[] OfAllServers = ["processors", "payers"];

    // What Citus refuses or counts wrong, the statements that break a rule all the same, and a statement that does.
    // Exceptions: a purge is a block of code; schema changes and reconciliations go on one at a time, each on its own
    // connection.
    private static readonly Dictionary<string, (Func<SqlPart, bool> IsBrokenBy, string[] Exceptions, string Broken)>
        Rules = new()
        {
            ["A command is one statement"] = (
                part => part.Own.Contains(';', StringComparison.Ordinal), ["PurgeSql"],
                "SELECT 1; SELECT 2"),
            ["Nothing is used that is of one server only"] = (
                part => OfOneServer.IsMatch(part.Own), ["LockSql", "LockSql", "UnlockSql"],
                "SELECT pg_notify (@Channel)"),
            ["No update of a conflicting row asks the clock"] = (
                part => ClockInConflict.IsMatch(part.Own), [],
                "INSERT INTO ledger (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET reset_at = now()"),
            ["Rows are locked in tables of one server only"] = (
                part => LockedRows.IsMatch(part.Own) && part.UsesAny(Distributed.Keys), [],
                "WITH page AS (SELECT correlation_id FROM payments LIMIT 1 FOR UPDATE) SELECT 1 FROM page"),
            ["A query has columns"] = (
                part => NoColumns.IsMatch(part.Own), [],
                "SELECT 1 FROM leases WHERE EXISTS (SELECT FROM payments)"),
            ["A choice in an update of several servers asks no table"] = (
                part => part.Changes(Distributed.Keys)
                    && Choice.Matches(part.Own).Any(choice => part.In(choice.Value).Any(
                        one => one.All.Any(inner => inner.IsQuery))), [],
                "UPDATE payments SET may_be_at = CASE WHEN @A THEN (SELECT used_processors FROM leases) ELSE 1 END"),
            ["A page in a lateral query is of tables of one server"] = (
                part => Lateral.Matches(part.Own).Any(lateral => part.In(lateral.Value).Any(
                    page => Page.IsMatch(page.Own) && page.All.Any(one => one.UsesAny(Distributed.Keys)))),
                [],
                "SELECT 1 FROM leases CROSS JOIN LATERAL (SELECT 1 FROM payments WHERE owner_epoch = epoch LIMIT 1) a"),
            ["A query of given rows is not repeated for each of them"] = (
                part => Given.Match(part.Own) is { Success: true } given && part.All.Skip(1).Any(
                    one => one.UsesAny(Distributed.Keys)
                        && one.Own.Contains($"{given.Groups[1].Value}.", StringComparison.Ordinal)), [],
                "SELECT 1 FROM unnest(@Ids) AS a (id) WHERE 1 = (SELECT 1 FROM payments WHERE correlation_id = a.id)"),
            ["An INSERT of payments returns what it stored"] = (
                part => part.Own.Contains("INSERT INTO payments", StringComparison.Ordinal)
                    && !part.Own.Contains("RETURNING", StringComparison.Ordinal), [],
                "INSERT INTO payments SELECT 1 ON CONFLICT DO NOTHING"),
            ["A change on one server asks others in a query of its own"] = (
                part => part.Changes(["leases", "ledger", "processor_health"]) && part.InPlace.Any(
                    inner => inner.All.Any(one => one.UsesAny(Distributed.Keys.Concat(OfAllServers)))), [],
                "DELETE FROM leases WHERE (SELECT true FROM payments WHERE owner_epoch = epoch LIMIT 1) IS NULL"),
            // There each part is a statement of its own, after those before it.
            ["A part of a statement reads nothing that a part before it changes"] = (
                part => Distributed.Keys.Any(table => part.Inner.SkipWhile(one => !one.Changes([table])).Skip(1).Any(
                    later => later.All.Any(one => one.Reads(table)))), [],
                "WITH a AS (UPDATE payments SET payer = 1 RETURNING 1) SELECT (SELECT 1 FROM payments) FROM a"),
            // The next page of these begins within the last time.
            ["A page with all rows of its last time looks nothing up"] = (
                part => part.Own.Contains("WITH TIES", StringComparison.Ordinal)
                    && part.All.Skip(1).Any(one => one.UsesAny(Distributed.Keys)), ["AdoptSql", "ReleaseSql"],
                "SELECT (SELECT 1 FROM doubts) FROM payments ORDER BY accepted_at FETCH FIRST @Rows ROWS WITH TIES"),
        };

    // A trigger refuses impossible states of updates alone.
    [Fact]
    public void A_payment_is_inserted_as_accepted_and_by_an_open_epoch()
    {
        var inserts = Texts.Where(one => one.Sql.Contains("INSERT INTO payments", StringComparison.Ordinal)).ToList();

        Assert.Equal(["StoreOneSql", "StoreSql"], inserts.Select(one => one.Name).Order());
        Assert.All(inserts, one => Assert.Contains(
            "INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch, payer)", one.Sql,
            StringComparison.Ordinal));
        Assert.All(inserts, one => Assert.Contains("FROM open_epochs", one.Sql, StringComparison.Ordinal));
    }

    /// <summary>All statements of the gateway, by the names of their constants.</summary>
    internal static List<(string Name, string Sql)> Texts { get; } = typeof(PaymentStore).Assembly.GetTypes()
        .Where(type => type.Namespace == typeof(PaymentStore).Namespace)
        .SelectMany(type => type.GetFields(BindingFlags.Static | BindingFlags.NonPublic | BindingFlags.Public))
        .Where(field => field.IsLiteral && field.FieldType == typeof(string)
            && field.Name.EndsWith("Sql", StringComparison.Ordinal))
        .Select(field => (field.Name, (string)field.GetRawConstantValue()!)).ToList();

    private static readonly List<(string Name, SqlPart Sql)> Statements =
        Texts.ConvertAll(one => (one.Name, SqlPart.Of(one.Sql)));

    public static TheoryData<string> Names => [.. Rules.Keys];

    [Theory]
    [MemberData(nameof(Names))]
    public void A_rule_is_kept_by_every_statement_but_the_named_ones_and_broken_by_a_broken_one(string rule)
    {
        var (isBrokenBy, exceptions, broken) = Rules[rule];

        Assert.InRange(Statements.Count, 40, int.MaxValue);
        Assert.Contains(SqlPart.Of(broken).All, part => isBrokenBy(part));
        Assert.Equal(exceptions, Statements.Where(one => one.Sql.All.Any(isBrokenBy)).Select(one => one.Name).Order());
    }

    [Fact]
    public void Every_INSERT_of_an_event_names_its_position()
    {
        var inserts = Texts.SelectMany(one => EventInsert.Matches(one.Sql)).Select(one => one.Groups[1].Value).ToList();

        Assert.InRange(inserts.Count, 8, int.MaxValue);
        Assert.All(inserts, columns => Assert.Contains("recorded_by", columns, StringComparison.Ordinal));
    }

    [PostgresFact]
    public async Task Every_table_with_the_id_of_a_payment_is_distributed_by_it_and_no_other_table_is()
    {
        var tables = await database.ScalarAsync<string>("""
            SELECT string_agg(relname, ',' ORDER BY relname) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
            WHERE attname = 'correlation_id' AND relkind = 'r' AND relnamespace = current_schema()::regnamespace
            """);

        Assert.Equal(tables.Split(','), Distributed.Keys.Order());
        Assert.All(Distributed.Values, column => Assert.Equal("correlation_id", column));
    }

    // Another one could not be held over several servers.
    [PostgresFact]
    public async Task Every_key_of_a_distributed_table_has_the_id_of_the_payment()
    {
        var keys = await database.ScalarAsync<string>("""
            SELECT string_agg(indexdef, E'\n') FROM pg_indexes
            WHERE schemaname = current_schema() AND indexdef LIKE 'CREATE UNIQUE%'
              AND tablename IN ('payments', 'settlements', 'doubts', 'payment_events')
            """);

        Assert.Equal(Distributed.Count, keys.Split('\n').Length);
        Assert.All(keys.Split('\n'), key => Assert.Contains("correlation_id", key, StringComparison.Ordinal));
    }
}
