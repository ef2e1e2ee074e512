using PaymentGateway.Tools.Limiting;

namespace PaymentGateway.Tools.Running;

/// <summary>Starts the processes of one system, and knows those that it has started itself.</summary>
internal sealed class PartLauncher
{
    // A session of its own: the terminal's Ctrl-C must reach only us, who stop the parts in order. Limited from its
    // first page on.
    private const string Detached =
        """
        exec >>"$1" 2>&1 </dev/null
        for group in $2; do echo $$ >"$group/cgroup.procs" || exit; done
        shift 2
        exec setsid "$@"
        """;

    private readonly Dictionary<string, Process> _children = [];

    /// <param name="variables">On top of the system's own; one that is null is taken away.</param>
    public void Launch(
        SystemLayout system,
        string part,
        string directory,
        IReadOnlyList<string> command,
        IEnumerable<KeyValuePair<string, string?>> variables)
    {
        var groups = system.Settings.Limits ? PartLimits.OfThisMachine().Make(
            system.Name, part, ComposeSplit.Read().GetValueOrDefault(part)) : [];
        var start = new ProcessStartInfo(
            "/bin/sh", ["-c", Detached, "sh", system.Folder.LogOf(part), string.Join(' ', groups), .. command])
        {
            WorkingDirectory = directory,
            // All three, or .NET takes the terminal for the child's; the shell puts its own in their place.
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        SystemEnvironment.Fill(start.Environment, system.Settings, variables);

        var process = Process.Start(start)!;
        process.StandardInput.Close();
        system.Folder.Remember(part, process.Id);
        _children[part] = process;
    }

    /// <summary>The end of a part that was started here: its status, as a shell counts it.</summary>
    public async Task<int> EndAsync(string part, CancellationToken cancellation)
    {
        await _children[part].WaitForExitAsync(cancellation);
        return _children[part].ExitCode;
    }
}

/// <summary>What is in the environment of the parts.</summary>
internal static class SystemEnvironment
{
    /// <summary>The system's variables alone, nothing of this process.</summary>
    public static void Fill(
        IDictionary<string, string?> environment,
        SystemSettings settings,
        IEnumerable<KeyValuePair<string, string?>> variables)
    {
        environment.Clear();
        foreach (var (name, value) in settings.Variables)
            environment[name] = value;
        environment["PATH"] = Programs.SearchPath;
        foreach (var (name, value) in variables)
            if (value is null)
                environment.Remove(name);
            else
                environment[name] = value;
    }
}
