using System.ComponentModel;
using System.Globalization;
using System.Net.Sockets;
using System.Runtime.InteropServices;

namespace PaymentGateway.Tools.Containers;

/// <summary>
/// Opens sockets in the network of another process. A socket stays in the network in which it was made, whoever uses
/// it, and the kernel asks for the network of the thread, not of the process.
/// </summary>
internal static class NetworkNamespace
{
    private const int OfNetwork = 0x40000000;

    public static Socket NewSocket(int pid)
    {
        Socket? made = null;
        Exception? failure = null;
        // A thread of its own, that ends at once: nothing else may ever run in the other network.
        var inside = new Thread(() =>
        {
            try
            {
                Join(pid);
                made = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            }
            catch (Exception broken)
            {
                failure = broken;
            }
        });
        inside.Start();
        inside.Join();
        return made ?? throw new IOException($"no socket in the network of process {pid}", failure);
    }

    private static void Join(int pid)
    {
        var path = string.Create(CultureInfo.InvariantCulture, $"/proc/{pid}/ns/net");
        using var network = File.OpenHandle(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite);
        if (NativeSetns(network, OfNetwork) != 0)
            throw new Win32Exception();
    }

    [DllImport("libc", EntryPoint = "setns", SetLastError = true)]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int NativeSetns(SafeHandle network, int kind);
}
