namespace PaymentGateway.Tools;

/// <summary>Ends a verb with one line for whoever called it, `payment-gateway: …`, and with a status.</summary>
public sealed class ToolException : Exception
{
    public ToolException(string message, int status = 1)
        : base(message) => Status = status;

    /// <summary>What the program exits with.</summary>
    public int Status { get; }
}
