namespace PaymentGateway.Tests.Support;

/// <summary>Where the sources are, for tests that look at files of the repository.</summary>
internal static class Repository
{
    public static string Root { get; } = Find();

    public static string PathOf(params string[] parts) => Path.Combine([Root, .. parts]);

    private static string Find()
    {
        for (var at = new DirectoryInfo(AppContext.BaseDirectory); at is not null; at = at.Parent)
            if (File.Exists(Path.Combine(at.FullName, "PaymentGateway.sln")))
                return at.FullName;
        throw new InvalidOperationException("The tests do not run inside the repository.");
    }
}
