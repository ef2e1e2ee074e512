using System.Runtime.InteropServices;

namespace PaymentGateway.Tools.Measuring.Load;

/// <summary>Waits more finely than a millisecond and without burning a core.</summary>
internal static class Pause
{
    /// <summary>Waits for a moment that is not over yet, at most ten milliseconds at once.</summary>
    /// <returns>False when it is over already.</returns>
    public static bool UntilMs(double left)
    {
        if (left <= 0)
            return false;

        _ = Sleep((uint)Math.Min(10_000, left * 1000));
        return true;
    }

    [DllImport("libc", EntryPoint = "usleep")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int Sleep(uint microseconds);
}
