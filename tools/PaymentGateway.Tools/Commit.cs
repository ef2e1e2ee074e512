namespace PaymentGateway.Tools;

/// <summary>The commit whose sources are tried or measured.</summary>
public static class Commit
{
    /// <summary>Its short hash, with a plus when sources were changed since; nothing outside a clone.</summary>
    public static async Task<string> NameAsync(CancellationToken cancellation = default)
    {
        var hash = await Shell.RunAsync(["git", "rev-parse", "--short", "HEAD"], cancellation: cancellation);
        if (!hash.Succeeded)
            return "";
        var changed = await Shell.RunAsync(
            ["git", "diff", "--quiet", "HEAD", "--", ".", ":!docs", ":!*.md"], cancellation: cancellation);
        return hash.Output.Trim() + (changed.Succeeded ? "" : "+");
    }
}
