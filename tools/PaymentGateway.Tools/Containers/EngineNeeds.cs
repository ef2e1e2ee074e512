using System.Runtime.InteropServices;

namespace PaymentGateway.Tools.Containers;

/// <summary>What an engine of our own needs of the machine and cannot bring along.</summary>
internal static class EngineNeeds
{
    private const int ToWrite = 2;

    /// <summary>A few words for each thing that this machine lacks.</summary>
    public static async Task<IReadOnlyList<string>> LackingAsync(CancellationToken cancellation)
    {
        var lacking = new List<string>();
        var machine = await Shell.ReadAsync(["uname", "-sm"], cancellation: cancellation);
        if (machine != "Linux x86_64")
            lacking.Add($"Linux on x86-64 (this is {machine})");
        if (!Environment.IsPrivilegedProcess)
            lacking.Add("root");
        if (!Programs.Has("apt-get"))
            lacking.Add("apt-get, for the packages of the engine and of the substitute images");
        if (!HasOverlay())
            lacking.Add("overlay file systems in the kernel");
        if (!await CanUnshareAsync(cancellation))
            lacking.Add("namespaces for mounts, network and processes");
        // Version 1 of the cgroups, or version 2.
        if (!CanWrite("/sys/fs/cgroup/memory") && !CanWrite("/sys/fs/cgroup/cgroup.subtree_control"))
            lacking.Add("cgroups that can be written");
        return lacking;
    }

    private static bool HasOverlay() => File.Exists("/proc/filesystems")
        && File.ReadLines("/proc/filesystems").Any(line => line.Split('\t')[^1] == "overlay");

    private static async Task<bool> CanUnshareAsync(CancellationToken cancellation) => Programs.Has("unshare")
        && (await Shell.RunAsync(
            ["unshare", "--mount", "--net", "--pid", "--fork", "true"], cancellation: cancellation)).Succeeded;

    private static bool CanWrite(string path) => NativeAccess(path, ToWrite) == 0;

    [DllImport("libc", EntryPoint = "access", BestFitMapping = false, ThrowOnUnmappableChar = true)]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int NativeAccess([MarshalAs(UnmanagedType.LPUTF8Str)] string path, int mode);
}
