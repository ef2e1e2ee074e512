using System.Globalization;

namespace PaymentGateway.Storage;

/// <summary>A version that the tables have.</summary>
internal sealed record AppliedVersion(int Version, string Checksum);

/// <summary>A version that they have from now on.</summary>
internal sealed record MigrationRow(int Version, string Name, string Checksum);

/// <summary>How long a statement of a migration may take, in PostgreSQL's notation.</summary>
internal sealed record MigrationLimit(string StatementTimeout)
{
    /// <summary>The server's own limit comes before that of the command; 0 is none.</summary>
    public static MigrationLimit Within(int commandSeconds) =>
        new(string.Create(CultureInfo.InvariantCulture, $"{Math.Max(0, commandSeconds - 1)}s"));
}
