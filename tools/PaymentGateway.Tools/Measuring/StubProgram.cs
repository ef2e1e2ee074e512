namespace PaymentGateway.Tools.Measuring;

/// <summary>The gateway of tests/ that only answers 202, published unless NO_PUBLISH=1 and it is there.</summary>
internal static class StubProgram
{
    private const string Name = "PaymentGateway.Stub";

    public static string Path(SystemSettings settings) => settings.Published(Name);

    public static async Task PublishAsync(SystemSettings settings, CancellationToken cancellation)
    {
        if (!settings.Publishes && File.Exists(Path(settings)))
            return;

        Console.WriteLine($"publishing {Name}");
        var published = await Shell.RunAsync(
            ["dotnet", "publish", $"tests/{Name}", "-c", "Release", "-r", "linux-x64", "-tl:off", "-clp:NoSummary"],
            cancellation: cancellation);
        if (!published.Succeeded)
            throw new ToolException($"publishing {Name} failed: {published.Output.Trim()}");
    }
}
