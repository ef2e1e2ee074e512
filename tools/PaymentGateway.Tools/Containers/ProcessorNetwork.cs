namespace PaymentGateway.Tools.Containers;

/// <summary>The network of the processors as the challenge has it: not of the project, with two simulators.</summary>
internal static class ProcessorNetwork
{
    private const string Name = "payment-processor";

    public static async Task<bool> ExistsAsync(Docker docker) =>
        (await docker.RunAsync("network", "inspect", Name)).Succeeded;

    public static async Task<bool> MakeAsync(Docker docker, ContainerStep step)
    {
        var label = $"{docker.Engine.Group}";
        var network = await docker.RunAsync("network", "create", "--label", label, Name);
        if (!Rig.Did(step, network, "docker network create"))
            return false;
        (string Processor, string Port, string Fee)[] processors =
            [("default", "8001", "0.05"), ("fallback", "8002", "0.15")];
        foreach (var (processor, port, fee) in processors)
        {
            var started = await docker.RunAsync(
                "run", "-d", "--label", label, "--name", $"{Docker.Project}-{processor}", "--network", Name,
                "--network-alias", $"payment-processor-{processor}", "--user", "1654:1654", "-p", $"{port}:8080",
                "-e", $"Simulator__FeePerTransaction={fee}", "payment-processor-simulator:local");
            if (!Rig.Did(step, started, $"docker run of {processor}"))
                return false;
        }

        return true;
    }

    /// <summary>Only what this run has made.</summary>
    public static async Task RemoveAsync(Docker docker)
    {
        var label = $"label={docker.Engine.Group}";
        if (await IdsAsync(docker, "ps", "-aq", "--filter", label) is { Length: > 0 } containers)
            await docker.RunAsync(["rm", "-f", .. containers]);
        if (await IdsAsync(docker, "network", "ls", "-q", "--filter", label) is { Length: > 0 } networks)
            await docker.RunAsync(["network", "rm", .. networks]);
    }

    private static async Task<string[]> IdsAsync(Docker docker, params string[] command) =>
        (await docker.RunAsync(command)).Output.Split('\n', StringSplitOptions.RemoveEmptyEntries);
}
