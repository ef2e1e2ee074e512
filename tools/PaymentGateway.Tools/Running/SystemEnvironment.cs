namespace PaymentGateway.Tools.Running;

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
