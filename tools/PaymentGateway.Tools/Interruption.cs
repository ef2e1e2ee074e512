using System.Runtime.InteropServices;

namespace PaymentGateway.Tools;

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
