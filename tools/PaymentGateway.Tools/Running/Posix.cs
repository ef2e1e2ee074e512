using System.Runtime.InteropServices;

namespace PaymentGateway.Tools.Running;

/// <summary>The kernel's calls that .NET has no method for.</summary>
public static class Posix
{
    /// <summary>False when there is no such process, or it is not ours.</summary>
    public static bool Send(int pid, Signal signal) => NativeKill(pid, (int)signal) == 0;

    [DllImport("libc", EntryPoint = "kill")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int NativeKill(int pid, int signal);
}

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
