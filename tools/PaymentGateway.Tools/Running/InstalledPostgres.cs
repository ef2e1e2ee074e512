using System.Globalization;

namespace PaymentGateway.Tools.Running;

/// <summary>Finds PostgreSQL where Debian installs it.</summary>
public static class InstalledPostgres
{
    private const string Versions = "/usr/lib/postgresql";

    /// <summary>The programs' directory of the newest version here; null when there is none.</summary>
    public static string? Newest => Directory.Exists(Versions)
        ? Directory.GetDirectories(Versions)
            .Select(version => Path.Combine(version, "bin"))
            .Where(programs => File.Exists(Path.Combine(programs, "postgres")))
            .MaxBy(Number)
        : null;

    private static int Number(string programs) =>
        int.TryParse(programs.Split('/')[^2], CultureInfo.InvariantCulture, out var number) ? number : 0;
}
