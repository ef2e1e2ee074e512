namespace PaymentGateway.Tools;

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
