namespace PaymentGateway.Tools.Running;

/// <summary>The signals that a part may be sent, by the kernel's numbers.</summary>
public enum Signal
{
    Hangup = 1,
    Interrupt = 2,
    Quit = 3,
    Kill = 9,
    Terminate = 15,
    Continue = 18,
    Stop = 19,
}
