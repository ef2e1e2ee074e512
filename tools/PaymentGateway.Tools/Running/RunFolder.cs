using System.Security.Cryptography;
using System.Text;

namespace PaymentGateway.Tools.Running;

/// <summary>What a system remembers between two calls.</summary>
/// <param name="ShortDirectory">Its sockets.</param>
/// <param name="DataDirectory">PostgreSQL's data.</param>
/// <param name="Variables">The settings of the start.</param>
internal sealed record SavedSystem(
    string ShortDirectory, string DataDirectory, IReadOnlyDictionary<string, string> Variables);

/// <summary>The files of one RUN_DIR: which processes there are, their logs, and the settings of the start.</summary>
internal sealed class RunFolder(string path)
{
    // The pid of a `make run`, which stops its parts itself.
    public const string Run = "run";

    private const UnixFileMode OwnerOnly = UnixFileMode.UserRead | UnixFileMode.UserWrite;

    public string Path => path;

    public string Logs => At("logs");

    public string EnvironmentFile => At("system.env");

    public string NginxPrefix => At("nginx");

    /// <summary>Something was started here and not stopped in order.</summary>
    public bool IsInUse => File.Exists(Settings);

    private string Pids => At("pids");

    private string Settings => At("settings");

    public string LogOf(string part) => System.IO.Path.Combine(Logs, $"{part}.log");

    /// <summary>
    /// PostgreSQL's data, apart for each pair of processors: what waits for one must never be charged by another, and
    /// what a plain start deletes has only ever known simulators.
    /// </summary>
    public string DataOf(SystemSettings settings) => At($"postgres-{settings.Profile}-{ProcessorsOf(settings)}");

    /// <summary>Held until it is disposed: two starts at once would take each other's parts for leftovers.</summary>
    public IDisposable Lock()
    {
        Directory.CreateDirectory(path);
        return FileLock.TryTake(At("lock")) ?? throw new ToolException($"another start is at work in {path}");
    }

    public void MakeEmpty()
    {
        if (Directory.Exists(Logs))
            Directory.Delete(Logs, recursive: true);
        Directory.CreateDirectory(Logs);
        Directory.CreateDirectory(Pids);
    }

    /// <summary>All but the logs and what PostgreSQL has stored.</summary>
    public void Clear()
    {
        foreach (var folder in new[] { Pids, NginxPrefix })
            if (Directory.Exists(folder))
                Directory.Delete(folder, recursive: true);
        DeleteFile(Settings);
        DeleteFile(EnvironmentFile);
    }

    public void Remember(string part, int pid) => File.WriteAllText(PidFile(part), string.Create(
        CultureInfo.InvariantCulture, $"{pid} {ProcessStatus.ReadLiving(pid)?.Born}\n"));

    public void Forget(string part) => DeleteFile(PidFile(part));

    /// <summary>A part's process, also one that has ended since; null when none was started.</summary>
    public int? LastPidOf(string part) => ReadPid(part)?.Pid;

    /// <summary>A part's process as long as it lives: a pid that was given to another since is not believed.</summary>
    public int? PidOf(string part) => ReadPid(part) is { } one
        && ProcessStatus.ReadLiving(one.Pid) is { } status && status.Born == one.Born ? one.Pid : null;

    /// <summary>Whether a part was started, or a `make run`, and not stopped in order.</summary>
    public bool HasPids() => Directory.Exists(Pids) && Directory.EnumerateFiles(Pids).Any();

    /// <summary>A `make run` that was killed: its parts are leftovers, though they run.</summary>
    public bool WasLeftByRun() => File.Exists(PidFile(Run)) && PidOf(Run) is null;

    public void Save(SavedSystem saved)
    {
        // The token is in it.
        var options = new FileStreamOptions
        {
            Mode = FileMode.Create,
            Access = FileAccess.Write,
            UnixCreateMode = OwnerOnly,
        };
        File.Delete(Settings);
        using var file = new FileStream(Settings, options);
        JsonSerializer.Serialize(file, saved);
    }

    /// <summary>Null when nothing was started here, or it was stopped.</summary>
    public SavedSystem? Load()
    {
        if (!File.Exists(Settings))
            return null;
        try
        {
            using var file = File.OpenRead(Settings);
            return JsonSerializer.Deserialize<SavedSystem>(file);
        }
        catch (JsonException)
        {
            return null; // Of a start that was killed while it wrote.
        }
    }

    // Its directory may not be there either.
    private static void DeleteFile(string file)
    {
        if (File.Exists(file))
            File.Delete(file);
    }

    private static string ProcessorsOf(SystemSettings settings)
    {
        if (!settings.HasOutsideDefault && !settings.HasOutsideFallback)
            return "simulators";
        var urls = $"{settings["DEFAULT_URL"]} {settings["FALLBACK_URL"]}";
        return Convert.ToHexString(SHA256.HashData(Encoding.UTF8.GetBytes(urls)))[..8];
    }

    private string At(string name) => System.IO.Path.Combine(path, name);

    private string PidFile(string part) => System.IO.Path.Combine(Pids, part);

    private (int Pid, ulong Born)? ReadPid(string part)
    {
        if (!File.Exists(PidFile(part)))
            return null;
        try
        {
            var words = File.ReadAllText(PidFile(part)).Split([' ', '\n'], StringSplitOptions.RemoveEmptyEntries);
            if (words.Length < 2)
                return null; // It had terminated before it could be remembered.
            var (pid, started) = (words[0], words[1]);
            return (int.Parse(pid, CultureInfo.InvariantCulture), ulong.Parse(started, CultureInfo.InvariantCulture));
        }
        catch (IOException)
        {
            return null; // Somebody else has just stopped it.
        }
    }
}
