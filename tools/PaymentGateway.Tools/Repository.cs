namespace PaymentGateway.Tools;

/// <summary>Where the sources and what was built from them are.</summary>
public static class Repository
{
    public static string Root { get; } = Find();

    public static string PathOf(params string[] parts) => Path.Combine([Root, .. parts]);

    /// <summary>What is built of this framework; none is the default one, as Directory.Build.props says.</summary>
    public static string ArtifactsOf(string? framework, params string[] parts) =>
        Path.Combine([Root, "artifacts", framework ?? "", .. parts]);

    private static string Find()
    {
        for (var at = new DirectoryInfo(AppContext.BaseDirectory); at is not null; at = at.Parent)
            if (File.Exists(Path.Combine(at.FullName, "PaymentGateway.sln")))
                return at.FullName;
        throw new InvalidOperationException("This does not run inside the repository.");
    }
}

/// <summary>The commit whose binaries are measured, for the head of a report.</summary>
public static class Commit
{
    /// <summary>Nothing outside a clone. A figure from changed sources is not the commit's, so it has a plus.</summary>
    /// <param name="clone">Ours when it is not given.</param>
    public static async Task<string> ReadAsync(CancellationToken cancellation, string? clone = null)
    {
        var hash = await Shell.RunAsync(["git", "rev-parse", "--short", "HEAD"], clone, cancellation: cancellation);
        if (!hash.Succeeded)
            return "";

        var changes = await Shell.RunAsync(
            ["git", "diff", "--quiet", "HEAD", "--", ".", ":!docs", ":!*.md"], clone, cancellation: cancellation);
        return hash.Output.Trim() + (changes.Succeeded ? "" : "+");
    }
}
