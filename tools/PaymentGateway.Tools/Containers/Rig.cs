using System.Diagnostics;
using System.Globalization;

namespace PaymentGateway.Tools.Containers;

/// <summary>What the steps work on: one engine, the containers of one project on it, and their ledgers.</summary>
internal sealed class Rig : IDisposable
{
    public static readonly TimeSpan BackLimit = TimeSpan.FromSeconds(60);
    public static readonly TimeSpan ReadyLimit = TimeSpan.FromSeconds(30);

    private EngineClients _clients;

    public Rig(Docker docker, StepTable table)
    {
        (Docker, Table) = (docker, table);
        _clients = new EngineClients(docker.Engine);
        Stack = ComposeStack.WithSimulators(docker);
        Ledger = new StackLedger(() => Stack, () => _clients);
    }

    public Docker Docker { get; }

    public StepTable Table { get; }

    /// <summary>The files in use.</summary>
    public ComposeStack Stack { get; private set; }

    public StackLedger Ledger { get; }

    public EngineClients Http => _clients;

    /// <summary>Connections to an engine that was killed lead nowhere.</summary>
    public void Reconnect()
    {
        _clients.Dispose();
        _clients = new EngineClients(Docker.Engine);
    }

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
        if (!Docker.Engine.IsOwn && (before is null || !await Docker.CanKillAsync(before)))
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

    /// <summary>Removes what this run has made; on an engine that others use nothing else.</summary>
    public async Task RemoveAsync()
    {
        var docker = Docker.Uncancelled();
        await ComposeStack.Challenge(docker).RunAsync("down", "-v");
        await ProcessorNetwork.RemoveAsync(docker);
        await ComposeStack.Durable(docker).RunAsync("down", "-v");
    }

    public void Dispose() => _clients.Dispose();
}
