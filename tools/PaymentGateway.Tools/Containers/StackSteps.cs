using System.Net;

namespace PaymentGateway.Tools.Containers;

/// <summary>Steps that break containers and compare every payment afterwards, one method a step.</summary>
internal sealed class StackSteps(Rig rig, OwnEngine? own, MemoryKills kills)
{
    public async Task UpAsync(ContainerStep step)
    {
        rig.Ledger.Begin();
        if (!await rig.UpAsync(step))
            return;
        var statuses = await rig.Http.OperatorStatusesAsync();
        step.Must(
            statuses is [HttpStatusCode.OK, HttpStatusCode.OK, HttpStatusCode.NotFound],
            $"an operator's call at api1, api2 and nginx: {string.Join(", ", statuses)}");
    }

    public async Task LoadAsync(ContainerStep step)
    {
        await rig.Ledger.LoadHereAsync(step, 5);
        await rig.Ledger.CompareAsync(step);
    }

    public async Task DockerKillAsync(ContainerStep step)
    {
        var id = await rig.Stack.IdOfAsync("api1");
        await rig.UnderLoadAsync(
            step, 8, async () => Rig.Did(step, await rig.Docker.RunAsync("kill", id), "docker kill"));
        // For Docker a manual stop, in every restart policy.
        step.Must(await rig.Stack.StateOfAsync("api1") is { IsDown: true }, "api1 is not down");
        await rig.Ledger.CompareAsync(step);
        await rig.UpAsync(step);
    }

    /// <summary>An instance's, nginx's, or PostgreSQL's where it is durable.</summary>
    public async Task KillProcessAsync(ContainerStep step, string service)
    {
        if (await rig.KilledComesBackAsync(step, service))
            await rig.Ledger.CompareAsync(step);
    }

    public async Task RestartPostgresAsync(ContainerStep step)
    {
        await rig.UnderLoadAsync(
            step, 10, async () => Rig.Did(step, await rig.Stack.RunAsync("restart", "postgres"), "restart postgres"));
        await rig.BecomesHealthyAsync(step, "postgres");
        await rig.BecomesReadyAsync(step);
        await rig.Ledger.CompareAsync(step);
    }

    /// <summary>
    /// The tables are empty afterwards, as promised, and say so; nothing is charged twice, and new ledgers agree.
    /// </summary>
    public async Task KillUnloggedPostgresAsync(ContainerStep step)
    {
        if (!await rig.KilledComesBackAsync(step, "postgres"))
            return;
        var said = await rig.Http.SayReadyAsync();
        step.Must(
            said.Contains("\"ledger\":\"reset\"", StringComparison.Ordinal),
            $"/readyz says no loss, but: {said.Trim()}");
        step.Must(
            await rig.WaitAsync(Rig.BackLimit, rig.Ledger.NothingIsUnsettledAsync), "payments stay unsettled");
        await rig.Ledger.CompareAfterLossAsync(step);
        step.Note("ledger empty by design, then new ones");
        await rig.Ledger.ForgetAsync();
        await LoadAndCompareAsync(step);
    }

    /// <summary>The simulators forget, so the load comes after.</summary>
    public async Task DownUpAsync(ContainerStep step)
    {
        await rig.Ledger.KeepAsync();
        await rig.DownAsync(step);
        if (await rig.UpAsync(step))
            await LoadAndCompareAsync(step);
    }

    public async Task PowerCutAsync(ContainerStep step)
    {
        if (own is null)
        {
            step.Skip("not with an engine that others use");
            return;
        }

        await rig.Ledger.KeepAsync();
        await own.KillAsync();
        await own.StartAsync(rig.Docker.Cancellation);
        rig.Reconnect();
        kills.Watch();
        await rig.BecomesReadyAsync(step, Rig.BackLimit);
        foreach (var service in new[] { "api1", "api2", "postgres", "nginx" })
            await rig.BecomesHealthyAsync(step, service);
        await LoadAndCompareAsync(step);
    }

    public async Task ChallengeUpAsync(ContainerStep step)
    {
        if (await ProcessorNetwork.ExistsAsync(rig.Docker))
        {
            const string foreign = "there is a network payment-processor that is not ours";
            rig.Table.End(foreign);
            step.Skip(foreign);
            return;
        }

        rig.Table.End("not without the processors above");
        if (!await ProcessorNetwork.MakeAsync(rig.Docker, step))
            return;
        rig.Table.End(null);
        rig.Ledger.Begin();
        if (await rig.UpAsync(step))
            await LoadAndCompareAsync(step);
    }

    public async Task DownUnderLoadAsync(ContainerStep step)
    {
        await rig.UnderLoadAsync(step, 6, () => rig.DownAsync(step));
        if (await rig.UpAsync(step))
            await rig.Ledger.CompareAsync(step);
    }

    private async Task LoadAndCompareAsync(ContainerStep step)
    {
        await rig.Ledger.LoadHereAsync(step, 3);
        await rig.Ledger.CompareAsync(step);
    }
}
