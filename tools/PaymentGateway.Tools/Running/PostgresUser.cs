namespace PaymentGateway.Tools.Running;

/// <summary>PostgreSQL refuses root: its programs then run as user postgres, who owns their directories.</summary>
internal static class PostgresUser
{
    private const string Name = "postgres";

    /// <summary>What goes before a command of PostgreSQL's.</summary>
    public static IReadOnlyList<string> Prefix { get; } = Environment.IsPrivilegedProcess
        ? ["setpriv", $"--reuid={Name}", $"--regid={Name}", "--init-groups", "--"]
        : [];

    /// <exception cref="ToolException">There is no such user.</exception>
    public static void Check()
    {
        if (Environment.IsPrivilegedProcess
            && !File.ReadLines("/etc/passwd").Any(line => line.StartsWith($"{Name}:", StringComparison.Ordinal)))
            throw new ToolException("PostgreSQL refuses root, and there is no user postgres for it");
    }

    /// <summary>A directory that the server alone may enter.</summary>
    public static async Task MakeDirectoryAsync(string path)
    {
        Directory.CreateDirectory(path);
        File.SetUnixFileMode(path, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
        if (Environment.IsPrivilegedProcess)
            await Shell.ReadAsync(["chown", $"{Name}:", path]);
    }

    public static async Task<bool> CanEnterAsync(string path) =>
        (await Shell.RunAsync([.. Prefix, "test", "-x", path], "/")).Succeeded;
}
