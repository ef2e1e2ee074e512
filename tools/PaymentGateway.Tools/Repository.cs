using System.Xml.Linq;

namespace PaymentGateway.Tools;

/// <summary>Where the sources and what was built from them are.</summary>
public static class Repository
{
    public static string Root { get; } = Find();

    public static string PathOf(params string[] parts) => Path.Combine([Root, .. parts]);

    /// <summary>What is built of this framework; none is the default one, as Directory.Build.props says.</summary>
    public static string ArtifactsOf(string? framework, params string[] parts) =>
        Path.Combine([Root, "artifacts", framework ?? "", .. parts]);

    /// <summary>The framework that is built when none is asked for.</summary>
    public static string DefaultFramework() => XDocument.Load(PathOf("Directory.Build.props"))
        .Descendants("TargetFramework").First().Value;

    private static string Find()
    {
        for (var at = new DirectoryInfo(AppContext.BaseDirectory); at is not null; at = at.Parent)
            if (File.Exists(Path.Combine(at.FullName, "PaymentGateway.sln")))
                return at.FullName;
        throw new InvalidOperationException("This does not run inside the repository.");
    }
}
