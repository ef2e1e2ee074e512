using System.CommandLine;
using PaymentGateway.Tools.Chaos;
using PaymentGateway.Tools.Containers;
using PaymentGateway.Tools.LoadTesting;
using PaymentGateway.Tools.Measuring;
using PaymentGateway.Tools.Measuring.AbTesting;
using PaymentGateway.Tools.Mutating;
using PaymentGateway.Tools.Running;
using PaymentGateway.Tools.Testing;

namespace PaymentGateway.Tools;

/// <summary>The verbs of this program, a folder each; `make help` lists what to call.</summary>
internal static class Program
{
    public static async Task<int> Main(string[] args)
    {
        var root = new RootCommand("Runs, measures and tries the gateway and its parts.");
        Command[] verbs =
        [
            RunVerb.Create(), .. SystemVerbs.Create(), .. TestVerb.Create(),
            ContainersVerb.Create(), MutantsVerb.Create(), ChaosVerb.Create(), FailoverVerb.Create(),
            BenchVerb.Create(), AbVerb.Create(), LoadVerb.Create(),
        ];
        foreach (var verb in verbs)
            root.Add(verb);

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
