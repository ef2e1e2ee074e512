namespace PaymentGateway.Tools.Limiting;

/// <summary>What was changed on the machine, in order, so that it can be undone: here, or later from a file.</summary>
/// <param name="file">Written at each change; none is written when it is null.</param>
internal sealed class LimitState(string? file)
{
    private const string Group = "group";
    private const string Controller = "controller";
    private const string CpuFiles = "cpu_files";

    private readonly List<(string What, string Value)> _changes = [];

    /// <summary>Reads what an earlier call has written.</summary>
    public static LimitState Load(string file)
    {
        var state = new LimitState(file);
        foreach (var pair in File.ReadLines(file).Select(line => line.Split('=', 2)))
            state._changes.Add((pair[0], pair[1]));
        return state;
    }

    public void AddGroup(string path) => Add(Group, path);

    public void AddController(string name) => Add(Controller, name);

    /// <summary>For those who run beside and want to look.</summary>
    public void AddCpuFiles(string files) => Add(CpuFiles, files);

    /// <summary>The last change first.</summary>
    public void Undo(ControlGroups groups)
    {
        foreach (var (what, value) in Enumerable.Reverse(_changes))
            if (what == Group)
                RemoveGroup(value);
            else if (what == Controller)
                groups.Disable(value);
        _changes.Clear();
        if (file is not null)
            File.Delete(file);
    }

    // What still runs goes back to the root: a group with members cannot be removed.
    private static void RemoveGroup(string group)
    {
        if (!Directory.Exists(group))
            return;
        var members = Path.Combine(Path.GetDirectoryName(group)!, "cgroup.procs");
        foreach (var pid in File.ReadAllLines(Path.Combine(group, "cgroup.procs")))
            TryWrite(members, pid);
        try
        {
            Directory.Delete(group);
        }
        catch (IOException busy)
        {
            Console.Error.WriteLine($"could not remove {group}: {busy.Message}");
        }
    }

    private static void TryWrite(string file, string pid)
    {
        try
        {
            File.WriteAllText(file, pid);
        }
        catch (IOException)
        {
            // It has ended.
        }
    }

    private void Add(string what, string value)
    {
        _changes.Add((what, value));
        if (file is not null)
            File.AppendAllText(file, $"{what}={value}\n");
    }
}
