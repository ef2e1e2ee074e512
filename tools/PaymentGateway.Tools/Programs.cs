namespace PaymentGateway.Tools;

/// <summary>Looks for other programs where a shell would.</summary>
internal static class Programs
{
    /// <summary>Our path, and where nginx and what only root uses are, which a plain user's path lacks.</summary>
    public static string SearchPath { get; } = $"{Environment.GetEnvironmentVariable("PATH")}:/usr/sbin:/sbin";

    /// <summary>Null when it is nowhere.</summary>
    public static string? Find(string name) => SearchPath.Split(':')
        .Select(folder => Path.Combine(folder, name)).FirstOrDefault(File.Exists);

    public static bool Has(string name) => Find(name) is not null;

    public static void Demand(string name)
    {
        if (!Has(name))
            throw new ToolException($"{name} is missing (Debian: apt-get install {name})");
    }
}
