namespace PaymentGateway.Tools.Running;

/// <summary>What is in the environment of the parts, and where their programs are found.</summary>
internal static class SystemEnvironment
{
    // Here are nginx and setpriv, which a plain user's path lacks.
    private const string MorePath = "/usr/sbin:/sbin";

    /// <summary>The system's variables alone, nothing of this process.</summary>
    public static void Fill(
        IDictionary<string, string?> environment,
        SystemSettings settings,
        IEnumerable<KeyValuePair<string, string?>> variables)
    {
        environment.Clear();
        foreach (var (name, value) in settings.Variables)
            environment[name] = value;
        environment["PATH"] = PathOf(settings);
        foreach (var (name, value) in variables)
            if (value is null)
                environment.Remove(name);
            else
                environment[name] = value;
    }

    public static string PathOf(SystemSettings settings) =>
        $"{settings["PATH"]}:{MorePath}".TrimStart(':');

    public static bool Has(SystemSettings settings, string program) => PathOf(settings).Split(':')
        .Any(folder => folder.Length > 0 && File.Exists(Path.Combine(folder, program)));
}
