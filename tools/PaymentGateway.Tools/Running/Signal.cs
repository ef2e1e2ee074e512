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

/// <summary>The names of signals as a shell takes them.</summary>
internal static class Signals
{
    public static Signal Parse(string text) => text switch
    {
        "HUP" or "1" => Signal.Hangup,
        "INT" or "2" => Signal.Interrupt,
        "QUIT" or "3" => Signal.Quit,
        "KILL" or "9" => Signal.Kill,
        "TERM" or "15" => Signal.Terminate,
        "CONT" or "18" => Signal.Continue,
        "STOP" or "19" => Signal.Stop,
        _ => throw new ToolException($"no signal that a part takes: {text}"),
    };
}
