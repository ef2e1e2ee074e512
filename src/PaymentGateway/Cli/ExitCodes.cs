using PaymentGateway.Hosting.Telemetry;

namespace PaymentGateway.Cli;

/// <summary>Exit codes of sysexits.h, and 1 for a "no" (docs/cli.md).</summary>
internal static class ExitCodes
{
    public const int Ok = 0;
    public const int No = 1;
    public const int Usage = 64;
    public const int Differs = 65;
    public const int Unavailable = 69;
    public const int Failed = 70;
    public const int NotPermitted = 77;
    public const int WrongSetting = 78;
}

/// <summary>A verb failed; the message is one line, whatever a peer put into it.</summary>
internal sealed class VerbException(int exitCode, string message) : Exception(LogFormatter.Visible(message))
{
    public int ExitCode => exitCode;
}
