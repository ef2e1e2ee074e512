using System.CommandLine;
using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using PaymentGateway.Tools.Measuring;

// The system itself runs on Linux only: /proc, Unix sockets between users, setsid.
[assembly: SupportedOSPlatform("linux")]

namespace PaymentGateway.Tools;

/// <summary>The verbs of this program, a folder each; `make help` lists what to call.</summary>
internal static class Program
{
    public static async Task<int> Main(string[] args)
    {
        var root = new RootCommand("Runs, measures and tries the gateway and its parts.");
        Command[] verbs =
        [
            .. SystemVerbs.Create(), AbVerb.Create(),
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

/// <summary>Ctrl-C and its like: the first cancels what is done, a second does not cut the clearing up short.</summary>
internal sealed class Interruption : IDisposable
{
    private readonly CancellationTokenSource _cancellation = new();
    private readonly List<PosixSignalRegistration> _registrations;

    public Interruption() => _registrations =
    [
        PosixSignalRegistration.Create(PosixSignal.SIGINT, context => Cancel(context, 130)),
        PosixSignalRegistration.Create(PosixSignal.SIGTERM, context => Cancel(context, 143)),
        PosixSignalRegistration.Create(PosixSignal.SIGHUP, context => Cancel(context, 129)),
    ];

    public CancellationToken Token => _cancellation.Token;

    /// <summary>What a shell's programs exit with after such a signal; null as long as none came.</summary>
    public int? Status { get; private set; }

    public void Dispose()
    {
        foreach (var registration in _registrations)
            registration.Dispose();
        _cancellation.Dispose();
    }

    private void Cancel(PosixSignalContext context, int status)
    {
        context.Cancel = true;
        Status ??= status;
        _cancellation.Cancel();
    }
}

/// <summary>Ends a verb with one line for whoever called it, `payment-gateway: …`, and with a status.</summary>
public sealed class ToolException : Exception
{
    public ToolException(string message, int status = 1)
        : base(message) => Status = status;

    /// <summary>What the program exits with.</summary>
    public int Status { get; }
}
