using System.Reflection;

namespace PaymentGateway.Tests.Storage;

/// <summary>The rules that keep a ledger of several servers possible, as far as a machine can check them.</summary>
public sealed partial class StatementRulesTests(TestDatabase database) : IClassFixture<TestDatabase>
{
    // The exceptions, which docs/scaling.md names: a purge, and a page of parked payments. What removes old payments
    // locks the ledger's row, and then those that go.
    private static readonly string[] Several = ["PurgeSql"];
    private static readonly string[] LockingRows = ["RenewalSql", "AdoptSql", "ReplayPageSql", "RemoveSql"];

    private static readonly Dictionary<string, string> Statements = typeof(PaymentStore).Assembly.GetTypes()
        .Where(type => type.Namespace == typeof(PaymentStore).Namespace)
        .SelectMany(type => type.GetFields(BindingFlags.Static | BindingFlags.NonPublic | BindingFlags.Public)
            .Where(field => field.IsLiteral && field.FieldType == typeof(string)
                && field.Name.EndsWith("Sql", StringComparison.Ordinal))
            .Select(field => ($"{type.Name}.{field.Name}", (string)field.GetRawConstantValue()!)))
        .ToDictionary();

    private static readonly Dictionary<string, string> Distributed = Distribution()
        .Matches(File.ReadAllText(Repository.PathOf("postgres", "citus.sql")))
        .ToDictionary(match => match.Groups[1].Value, match => match.Groups[2].Value);

    [Fact]
    public void A_command_is_one_statement() =>
        Assert.Equal(Several, Named(sql => sql.Contains(';', StringComparison.Ordinal)));

    [Fact]
    public void Rows_are_locked_by_the_leases_alone_but_for_a_page_of_parked_payments() =>
        Assert.Equal(LockingRows.Order(), Named(sql => sql.Contains("FOR UPDATE", StringComparison.Ordinal)));

    [Fact]
    public void Nothing_is_used_that_is_of_one_server_only() =>
        // Changes of the schema go on one at a time, and so do reconciliations, each on its own connection.
        Assert.Equal(["LockSql", "LockSql", "UnlockSql"], Named(sql => OfOneServer().IsMatch(sql)));

    [Fact]
    public void No_update_of_a_conflicting_row_asks_the_clock() =>
        Assert.Empty(Named(sql => ClockInConflict().IsMatch(sql)));

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
              AND tablename IN ('payments', 'settlements', 'doubts')
            """);

        Assert.Equal(Distributed.Count, keys.Split('\n').Length);
        Assert.All(keys.Split('\n'), key => Assert.Contains("correlation_id", key, StringComparison.Ordinal));
    }

    private static IEnumerable<string> Named(Func<string, bool> isMeant)
    {
        Assert.InRange(Statements.Count, 25, int.MaxValue);
        return Statements.Where(one => isMeant(one.Value)).Select(one => one.Key.Split('.')[1]).Order();
    }

    [GeneratedRegex(@"create_distributed_table\('(\w+)', '(\w+)'")]
    private static partial Regex Distribution();

    [GeneratedRegex(@"\b(LISTEN|NOTIFY|pg_notify|force_generic_plan|pg_(try_)?advisory\w*)\b")]
    private static partial Regex OfOneServer();

    [GeneratedRegex(@"DO UPDATE\b.*?\b(now\(\)|clock_timestamp\(\))", RegexOptions.Singleline)]
    private static partial Regex ClockInConflict();
}
