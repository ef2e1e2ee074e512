using System.CommandLine;
using PaymentGateway.Tools.Chaos;
using PaymentGateway.Tools.Containers;
using PaymentGateway.Tools.LoadTesting;
using PaymentGateway.Tools.Measuring.AbTesting;
using PaymentGateway.Tools.Measuring;
using PaymentGateway.Tools.Mutating;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools;

/// <summary>The verbs of this program, a folder each; `make help` lists what to call.</summary>
internal static class Program
{
    public static async Task<int> Main(string[] args)
    {
        var root = new RootCommand("Runs, measures and tries the gateway and its parts.");
        root.Add(RunVerb.Create());
        root.Add(AbVerb.Create());
        root.Add(BenchVerb.Create());
        root.Add(LoadVerb.Create());
        foreach (var verb in SystemVerbs.Create())
            root.Add(verb);

        root.Add(ContainersVerb.Create());
        root.Add(MutantsVerb.Create());
        root.Add(ChaosVerb.Create());

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
        catch (Exception failure) when (failure is OperationCanceledException or ToolException
            && interruption.Status is not null)
        {
            return interruption.Status.Value;
        }
        catch (ToolException failure)
        {
            await Console.Error.WriteLineAsync($"payment-gateway: {failure.Message}");
            return failure.Status;
        }
    }
}
