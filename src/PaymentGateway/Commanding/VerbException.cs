namespace PaymentGateway.Commanding;

/// <summary>A verb ends without what it was asked for; the message is one line.</summary>
internal sealed class VerbException(int exitCode, string message) : Exception(message.ReplaceLineEndings(" "))
{
    /// <summary>One of <see cref="ExitCodes"/>.</summary>
    public int ExitCode => exitCode;
}
