namespace PaymentGateway.Tests.Support;

/// <summary>Linters that others wrote, npm packages of tests/linters.</summary>
internal static class Linters
{
    private static readonly string Packages = Repository.PathOf("tests", "linters");

    /// <summary>Runs a command where the packages are installed.</summary>
    public static async Task<ShellResult> RunAsync(params string[] command)
    {
        var installed = Repository.PathOf("artifacts", "linters");
        Directory.CreateDirectory(installed);
        // Once for each lock file: a test run needs the registry no second time.
        var made = await Shell.RunAsync(
        [
            "flock", Path.Combine(installed, "lock"), "sh", "-ec",
            """
            if ! cmp -s "$1/package-lock.json" package-lock.json || ! [ -e installed ]; then
              rm -f installed
              cp "$1/package.json" "$1/package-lock.json" .
              npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier
              touch installed
            fi
            cp "$1"/*.js "$1/redocly.yaml" .
            """,
            "sh", Packages,
        ], installed);
        Assert.True(made.Succeeded, made.Output + made.Errors);
        return await Shell.RunAsync(command, installed);
    }
}

public sealed class LinterFactAttribute() : NeedsFactAttribute("npm", SkipReason)
{
    public static string? SkipReason { get; } =
        Programs.Has("npm") && Programs.Has("node") ? null : "lacks npm: eng/setup brings it";
}

public sealed class LinterTheoryAttribute() : NeedsTheoryAttribute("npm", LinterFactAttribute.SkipReason);
