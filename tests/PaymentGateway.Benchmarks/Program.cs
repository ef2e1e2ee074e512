using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Diagnosers;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Toolchains.InProcess.Emit;
using PaymentGateway.Benchmarks.Allocating;
using PaymentGateway.Benchmarks.Routing;

namespace PaymentGateway.Benchmarks;

/// <summary>What is measured inside one process, for `make bench-inner` and `make routing`.</summary>
internal static class Program
{
    private const string Usage = """
        usage: PaymentGateway.Benchmarks
          inner [BenchmarkDotNet arguments]      the inner pieces, short job: time and bytes each
          routing                                the routing policy, simulated over official and random loads
          allocations SYSTEM_ENV [types] [token] bytes per payment, on the parts that SYSTEM_ENV names; `token`: of a
                                                 payer with a token
        """;

    public static async Task<int> Main(string[] args)
    {
        switch (args)
        {
            case ["inner", .. var rest]:
                BenchmarkSwitcher.FromAssembly(typeof(Program).Assembly).Run(
                    rest.Length > 0 ? rest : ["-f", "*"], Short());
                return 0;
            case ["allocations", var systemEnv, .. var rest]:
                return await AllocationRun.RunAsync(
                    systemEnv, withTypes: rest.Contains("types"), withToken: rest.Contains("token"));
            case ["routing"]:
                RoutingReport.Run(randomLoads: 1_000);
                return 0;
            default:
                await Console.Error.WriteLineAsync(Usage);
                return 64;
        }
    }

    // In this process: the runtime that this was built with is the one to measure on, and nothing is built anew.
    private static ManualConfig Short() => DefaultConfig.Instance
        .AddJob(Job.ShortRun.WithToolchain(InProcessEmitToolchain.Instance))
        .AddDiagnoser(MemoryDiagnoser.Default)
        .WithArtifactsPath("artifacts/bench")
        .WithOptions(ConfigOptions.DisableLogFile);
}
