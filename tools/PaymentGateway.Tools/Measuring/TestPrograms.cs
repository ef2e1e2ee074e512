namespace PaymentGateway.Tools.Measuring;

/// <summary>What a measurement needs of tests/, published unless NO_PUBLISH=1 and it is there.</summary>
internal static class TestPrograms
{
    private const string StubName = "PaymentGateway.Stub";
    private const string BenchmarksName = "PaymentGateway.Benchmarks";

    public static string Stub(SystemSettings settings) => Binary(settings, StubName);

    /// <summary>The BenchmarkDotNet pieces and the bytes per payment.</summary>
    public static string Benchmarks(SystemSettings settings) => Binary(settings, BenchmarksName);

    public static Task PublishStubAsync(SystemSettings settings, CancellationToken cancellation) =>
        PublishAsync(settings, StubName, [], cancellation);

    // With the runtime inside: bytes per payment are to be those of the framework, where perhaps only a newer one is
    // installed.
    public static Task PublishBenchmarksAsync(SystemSettings settings, CancellationToken cancellation) =>
        PublishAsync(settings, BenchmarksName, ["--self-contained"], cancellation);

    private static async Task PublishAsync(
        SystemSettings settings, string name, string[] more, CancellationToken cancellation)
    {
        if (!settings.Publishes && File.Exists(Binary(settings, name)))
            return;

        Console.WriteLine($"publishing {name}");
        var log = Repository.ArtifactsOf(settings.Framework, $"publish-{name}.log");
        Directory.CreateDirectory(Path.GetDirectoryName(log)!);
        var status = await LoggedCommand.RunAsync(
            ["dotnet", "publish", $"tests/{name}", "-c", "Release", "-r", "linux-x64", "-tl:off", "-clp:NoSummary",
                .. more],
            log, cancellation: cancellation);
        if (status != 0)
            throw new ToolException($"publishing {name} failed; log: {log}");
    }

    private static string Binary(SystemSettings settings, string name) =>
        Repository.ArtifactsOf(settings.Framework, "publish", name, "release_linux-x64", name);
}
