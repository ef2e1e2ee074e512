namespace PaymentGateway.Tests.Support;

/// <summary>The tables of version 1 with payments in them, from before they had a number.</summary>
public static class VersionOne
{
    private static readonly string Dump = File.ReadAllText(
        Repository.PathOf("tests", "PaymentGateway.Tests", "Storage", "Version1", "tables.sql"))
        .Replace("public.", "", StringComparison.Ordinal);

    public static Task CreateAsync(TestDatabase database, bool durable = false) =>
        database.ExecuteAsync(durable ? Dump.Replace("CREATE UNLOGGED TABLE", "CREATE TABLE") : Dump);

    /// <summary>Puts the tables of version 1 in the place of all that are there.</summary>
    public static Task ReplaceAsync(NpgsqlConnection connection) =>
        connection.ExecuteAsync($"DROP SCHEMA public CASCADE; CREATE SCHEMA public; {Dump}");
}
