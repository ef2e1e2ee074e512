using System.Globalization;
using System.IO.Hashing;
using System.Text;

namespace PaymentGateway.Storage;

/// <summary>
/// A numbered change of the schema, embedded from postgres/migrations. Written once: the checksum of an applied one is
/// kept in the database.
/// </summary>
/// <param name="Version">From 1, without a gap.</param>
/// <param name="Name">Of its file, without number and extension.</param>
/// <param name="Sql">One statement per command; a semicolon that ends a line ends it.</param>
internal sealed record Migration(int Version, string Name, string Sql)
{
    private const string Folder = "migrations/";
    private const string Extension = ".sql";

    /// <summary>All that this binary knows, in their order.</summary>
    public static IReadOnlyList<Migration> All { get; } = LoadAll();

    /// <summary>XXH128 of its file, in hexadecimals. SHA-256 would load OpenSSL: 4 MB in each instance.</summary>
    public string Checksum { get; } = Convert.ToHexString(XxHash128.Hash(Encoding.UTF8.GetBytes(Sql)));

    /// <summary>Its statements; the durable profile leaves the word UNLOGGED out.</summary>
    public string[] Statements(bool durable) =>
        (durable ? Sql.Replace("CREATE UNLOGGED TABLE", "CREATE TABLE", StringComparison.Ordinal) : Sql)
            .Split(";\n", StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);

    private static Migration[] LoadAll()
    {
        var files = Array.FindAll(
            typeof(Migration).Assembly.GetManifestResourceNames(),
            static name => name.StartsWith(Folder, StringComparison.Ordinal));
        Array.Sort(files, StringComparer.Ordinal);
        return Array.ConvertAll(files, Load);
    }

    private static Migration Load(string resource)
    {
        using var stream = typeof(Migration).Assembly.GetManifestResourceStream(resource)!;
        using var reader = new StreamReader(stream);
        var file = resource[Folder.Length..^Extension.Length];
        var dash = file.IndexOf('-', StringComparison.Ordinal);
        return new Migration(
            int.Parse(file.AsSpan(0, dash), CultureInfo.InvariantCulture), file[(dash + 1)..], reader.ReadToEnd());
    }
}
