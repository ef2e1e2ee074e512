using System.Reflection;

namespace PaymentGateway.Tests.Simulation;

/// <summary>The statements of the gateway, by class and constant, as in PaymentStore.StoreSql.</summary>
internal static partial class StatementNames
{
    /// <summary>After the name of a statement: it was executed, and is not answered.</summary>
    public const string Answered = "+";

    public const string Insert = "PaymentStore.StoreSql";
    public const string InsertOne = "PaymentStore.StoreOneSql";
    public const string Inserted = Insert + Answered;
    public const string Write = "SettlementLedger.RecordSql";
    public const string Written = Write + Answered;
    public const string Renew = "LeaseStore.RenewalSql";
    public const string Renewed = Renew + Answered;
    public const string Adopt = "AdoptionStore.AdoptSql";
    public const string Adopted = Adopt + Answered;
    public const string BacklogPage = "PaymentStore.UnsettledPageSql";
    public const string Purge = "LedgerStateStore.PurgeSql";
    public const string Retention = "RetentionStore.RemoveSql";

    // Each instance sends them each second.
    private static readonly string[] OfLeases = [Renew, "ReadingStore.WriteSql", "AdoptionStore.OrphanedSql"];

    private static readonly Dictionary<string, string> ByText = typeof(PaymentStore).Assembly.GetTypes()
        .Where(type => type.Namespace == typeof(PaymentStore).Namespace)
        .SelectMany(type => type.GetFields(BindingFlags.Static | BindingFlags.NonPublic | BindingFlags.Public))
        .Where(field => field.IsLiteral && field.FieldType == typeof(string)
            && field.Name.EndsWith("Sql", StringComparison.Ordinal))
        .ToDictionary(
            field => Normal((string)field.GetRawConstantValue()!),
            field => $"{field.DeclaringType!.Name}.{field.Name}");

    private static readonly ConcurrentDictionary<string, string> Found = new();

    public static IReadOnlyList<string> All { get; } = [.. ByText.Values.Order(StringComparer.Ordinal)];

    /// <returns>Empty for a statement of Npgsql's own.</returns>
    public static string Of(string sql) => Found.GetOrAdd(sql, Find);

    /// <returns>True when no payment, settlement or total changes by it.</returns>
    public static bool KeepsPayments(string sql) => OfLeases.Contains(Of(sql));

    // Npgsql sends a command of two statements as two.
    private static string Find(string sql)
    {
        var normal = Normal(sql);
        return ByText.TryGetValue(normal, out var whole) ? whole
            : normal.Length < 20 ? ""
            : ByText.FirstOrDefault(one => one.Key.Contains(normal, StringComparison.Ordinal)).Value ?? "";
    }

    // Npgsql numbers the parameters.
    private static string Normal(string sql) => Parameter().Replace(sql.Trim(), "?");

    [GeneratedRegex(@"@\w+|\$\d+\b")]
    private static partial Regex Parameter();
}
