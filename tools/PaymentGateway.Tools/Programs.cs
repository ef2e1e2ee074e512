namespace PaymentGateway.Tools;

/// <summary>Looks for other programs where a shell would.</summary>
internal static class Programs
{
    // Where nginx is, which a plain user's path lacks.
    private const string MorePath = ":/usr/sbin:/sbin";

    /// <summary>Null when it is nowhere.</summary>
    public static string? Find(string name) => (Environment.GetEnvironmentVariable("PATH") + MorePath).Split(':')
        .Select(folder => Path.Combine(folder, name)).FirstOrDefault(File.Exists);

    public static void Demand(string name)
    {
        if (Find(name) is null)
            throw new ToolException($"{name} is missing (Debian: apt-get install {name})");
    }
}
