using System.CommandLine;

namespace PaymentGateway.Tools;

/// <summary>The verbs of this program, a folder each; `make help` lists what to call.</summary>
internal static class Program
{
    public static Task<int> Main(string[] args)
    {
        var root = new RootCommand("Runs, measures and tries the gateway and its parts.");
        return root.Parse(args).InvokeAsync();
    }
}
