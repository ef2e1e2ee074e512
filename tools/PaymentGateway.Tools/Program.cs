using System.CommandLine;

namespace PaymentGateway.Tools;

/// <summary>The verbs of this program, a folder each; `make help` lists what to call.</summary>
internal static class Program
{
    public static async Task<int> Main(string[] args)
    {
        var root = new RootCommand("Runs, measures and tries the gateway and its parts.");

        root.Add(Containers.ContainersVerb.Create());
        using var interruption = new Interruption();
        // No time limit: a verb that is broken off still puts away what it has started.
        var configuration = new InvocationConfiguration
        {
            EnableDefaultExceptionHandler = false,
            ProcessTerminationTimeout = null,
        };
        try
        {
            return await root.Parse(args).InvokeAsync(configuration, interruption.Token);
        }
        catch (OperationCanceledException) when (interruption.Status is { } status)
        {
            return status;
        }
        catch (ToolException failure)
        {
            await Console.Error.WriteLineAsync($"payment-gateway: {failure.Message}");
            return failure.Status;
        }
    }
}
