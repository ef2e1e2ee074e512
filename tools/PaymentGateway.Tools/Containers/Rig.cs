namespace PaymentGateway.Tools.Containers;

/// <summary>What the steps work on: one engine, the containers of one project on it, and their ledgers.</summary>
internal sealed class Rig : IDisposable
{
    public const string Network = "payment-processor";

    // Of what is not the project's.
    private const string Label = "payment-gateway-test";

    public static readonly TimeSpan BackLimit = TimeSpan.FromSeconds(60);
    public static readonly TimeSpan ReadyLimit = TimeSpan.FromSeconds(30);

    public Rig(Docker docker, StepTable table)
    {
        (Docker, Table) = (docker, table);
        Stack = new ComposeStack(docker);
        Ledger = new StackLedger(() => Stack, Http);
    }

    public Docker Docker { get; }

    public StepTable Table { get; }

    public EngineClients Http { get; } = new();

    public StackLedger Ledger { get; }

    /// <summary>The files in use.</summary>
    public ComposeStack Stack { get; private set; }

    /// <summary>Puts away the containers and data of the files in use, and goes on with others.</summary>
    public async Task ChangeAsync(ComposeStack next)
    {
        await Stack.RunAsync("down", "-v");
        Stack = next;
    }

    public Task<bool> WaitAsync(TimeSpan limit, Func<Task<bool>> condition) =>
        Waiting.HoldsAsync(limit, condition, Docker.Cancellation);

    /// <summary>With --wait it succeeds only when all are healthy, or run where they have no health check.</summary>
    public async Task<bool> UpAsync(ContainerStep step)
    {
        var took = Stopwatch.StartNew();
        var up = await Stack.RunAsync("up", "-d", "--no-build", "--wait", "--wait-timeout", "90");
        if (!Did(step, up, "up -d --wait"))
        {
            Table.End("not without the `up` above");
            return false;
        }

        step.Note(string.Create(CultureInfo.InvariantCulture, $"ready after {took.Elapsed.TotalSeconds:0.0} s"));
        return true;
    }

    public async Task DownAsync(ContainerStep step) => Did(step, await Stack.RunAsync("down"), "down");

    public static bool Did(ContainerStep step, ShellResult result, string what) => step.Must(
        result.Succeeded,
        $"`{what}` ended with {result.Status}: {result.Errors.Trim().Split('\n')[^1]}");

    /// <summary>Seconds of load, of which something is acknowledged, and what happens after the first two.</summary>
    public async Task UnderLoadAsync(ContainerStep step, int seconds, Func<Task> actAsync)
    {
        var load = Ledger.LoadAsync(seconds);
        try
        {
            await Task.Delay(TimeSpan.FromSeconds(2), Docker.Cancellation);
            await actAsync();
        }
        finally
        {
            await load;
        }

        step.Must((await load).Acknowledged > 0, "no payment was acknowledged");
    }

    public async Task BecomesHealthyAsync(ContainerStep step, string service) => step.Must(
        await WaitAsync(BackLimit, () => Stack.IsHealthyAsync(service)), $"{service} did not become healthy");

    public async Task BecomesReadyAsync(ContainerStep step, TimeSpan? limit = null) => step.Must(
        await WaitAsync(limit ?? ReadyLimit, () => Http.IsReadyAsync()), "/readyz does not answer 200");

    /// <summary>Kills a service's process under load; it comes back by itself.</summary>
    /// <returns>False when it cannot be played here.</returns>
    public async Task<bool> KilledComesBackAsync(ContainerStep step, string service)
    {
        var before = await Stack.StateOfAsync(service);
        if (!Docker.IsOwn && (before is null || !await Docker.CanKillAsync(before)))
        {
            step.Skip("the processes of this engine cannot be killed from here");
            return false;
        }

        await UnderLoadAsync(step, 8, async () => step.Must(
            before is not null && await Docker.KillProcessAsync(before), $"the process of {service} was not killed"));
        step.Must(
            await WaitAsync(BackLimit, async () => await Stack.StateOfAsync(service) is { IsHealthy: true } now
                && now.RestartCount > before?.RestartCount),
            $"{service} was not restarted, or is not healthy");
        await BecomesReadyAsync(step);
        return true;
    }

    /// <summary>
    /// The processors' network as the challenge has it: not of the project, with two simulators. False when it failed.
    /// </summary>
    public async Task<bool> MakeProcessorsAsync(ContainerStep step)
    {
        var network = await Docker.RunAsync("network", "create", "--label", Label, Network);
        if (!Did(step, network, "docker network create"))
            return false;

        (string Processor, string Port, string Fee)[] processors =
            [("default", "8001", "0.05"), ("fallback", "8002", "0.15")];
        foreach (var (processor, port, fee) in processors)
        {
            var started = await Docker.RunAsync(
                "run", "-d", "--label", Label, "--name", $"{Docker.Project}-{processor}", "--network", Network,
                "--network-alias", $"payment-processor-{processor}", "--user", "1654:1654", "-p", $"{port}:8080",
                "-e", $"Simulator__FeePerTransaction={fee}", "payment-processor-simulator:local");
            if (!Did(step, started, $"docker run of {processor}"))
                return false;
        }

        return true;
    }

    /// <summary>Removes what this run has made, on an engine that others use.</summary>
    public static async Task RemoveAsync()
    {
        var docker = new Docker(CancellationToken.None);
        await ComposeStack.Entry(docker).RunAsync("down", "-v");
        var containers = await docker.RunAsync("ps", "-aq", "--filter", $"label={Label}");
        if (containers.Output.Split('\n', StringSplitOptions.RemoveEmptyEntries) is { Length: > 0 } ids)
        {
            await docker.RunAsync(["rm", "-f", .. ids]);
            await docker.RunAsync("network", "rm", Network);
        }

        await ComposeStack.Durable(docker).RunAsync("down", "-v");
    }

    public void Dispose() => Http.Dispose();
}
