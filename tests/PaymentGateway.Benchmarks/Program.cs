using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Diagnosers;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Toolchains.InProcess.Emit;
using PaymentGateway.Benchmarks.Allocating;
using PaymentGateway.Benchmarks.Load;

namespace PaymentGateway.Benchmarks;

/// <summary>What eng/bench cannot do in shell: arrivals at a fixed rate, a start's end, bytes per payment.</summary>
internal static class Program
{
    private const string Usage = """
        usage: PaymentGateway.Benchmarks
          inner [BenchmarkDotNet arguments]      the inner pieces, short job: time and bytes each
          rate URL PER_SECOND SECONDS [summary [FROM TO WINDOW_SECONDS]]
                                                 POST /payments at a fixed rate, or the summary: unbounded, or windows
                                                 somewhere in FROM … TO (Unix seconds); SIGINT or SIGTERM ends it
          ready SOCKET SECONDS                   waits for GET /readyz 200; prints Unix time in microseconds
          allocations SYSTEM_ENV [types]         bytes per payment, by the parts that eng/system started
        """;

    public static async Task<int> Main(string[] args)
    {
        switch (args)
        {
            case ["inner", .. var rest]:
                BenchmarkSwitcher.FromAssembly(typeof(Program).Assembly).Run(
                    rest.Length > 0 ? rest : ["-f", "*"], Short());
                return 0;
            case ["rate", var url, var perSecond, var seconds, .. var what]:
                return await FixedRate.RunAsync(
                    new Uri(url), Number.Of(perSecond), Number.Of(seconds), CallOf(what));
            case ["ready", var socket, var seconds]:
                return ReadyWatch.Run(socket, TimeSpan.FromSeconds(Number.Of(seconds)));
            case ["allocations", var systemEnv, .. var rest]:
                return await AllocationRun.RunAsync(systemEnv, rest is ["types"]);
            default:
                await Console.Error.WriteLineAsync(Usage);
                return 64;
        }
    }

    private static ICall CallOf(string[] what) => what switch
    {
        [] => new PaymentCall(),
        ["summary"] => new SummaryCall(null),
        ["summary", var from, var to, var window] =>
            new SummaryCall(new SummaryWindows(Number.Of(from), Number.Of(to), Number.Of(window))),
        _ => throw new ArgumentException(Usage, nameof(what)),
    };

    // In this process: the runtime that this was published with is the one to measure on, and nothing is built anew.
    private static ManualConfig Short() => DefaultConfig.Instance
        .AddJob(Job.ShortRun.WithToolchain(InProcessEmitToolchain.Instance))
        .AddDiagnoser(MemoryDiagnoser.Default)
        .WithOptions(ConfigOptions.DisableLogFile);
}
