namespace PaymentGateway.Tools.Containers;

/// <summary>Finds programs as a shell would, also where a plain user's path does not lead.</summary>
internal static class Programs
{
    /// <summary>Our path, and the folders of what only root uses.</summary>
    public static string SearchPath { get; } = $"{Environment.GetEnvironmentVariable("PATH")}:/usr/sbin:/sbin";

    public static bool Has(string program) => Find(program) is not null;

    public static string? Find(string program) => SearchPath.Split(':', StringSplitOptions.RemoveEmptyEntries)
        .Select(folder => Path.Combine(folder, program)).FirstOrDefault(File.Exists);
}
