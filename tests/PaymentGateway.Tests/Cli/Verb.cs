using PaymentGateway.Cli;

namespace PaymentGateway.Tests.Cli;

/// <summary>A verb run in this process: what it ended with and wrote.</summary>
internal sealed record Verb(int ExitCode, string Output, string Error)
{
    public JsonElement ReadJson() => JsonDocument.Parse(Output).RootElement;

    public static async Task<Verb> RunAsync(params string[] args)
    {
        using var output = new StringWriter();
        using var error = new StringWriter();
        var exitCode = await CommandLine.InvokeAsync(args, output, error);
        return new Verb(exitCode, output.ToString().TrimEnd(), error.ToString().TrimEnd());
    }

    /// <summary>It failed with one line that says why, and printed nothing else.</summary>
    public void AssertFailed(int exitCode, string why)
    {
        Assert.Equal((exitCode, ""), (ExitCode, Output));
        Assert.Contains(why, Error, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', Error);
    }
}
