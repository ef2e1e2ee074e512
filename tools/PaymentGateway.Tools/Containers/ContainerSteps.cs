namespace PaymentGateway.Tools.Containers;

/// <summary>The steps in their order; each breaks containers and compares every payment afterwards.</summary>
internal sealed class ContainerSteps(Rig rig, MemoryKills kills)
{
    public async Task PlayAsync()
    {
        (string Name, Func<ContainerStep, Task> PlayAsync)[] steps =
        [
            ("both images start", StartImagesAsync),
            ("a kill for memory is seen", SeeAKillForMemoryAsync),
            ("`docker compose up -d --wait`, with simulators", UpAsync),
            ("2,000 payments", LoadAsync),
            ("`docker kill` of an instance under load, `up` again", DockerKillAsync),
            ("`kill -9` of an instance's process under load", step => KillProcessAsync(step, "api2")),
            ("`kill -9` of nginx under load", step => KillProcessAsync(step, "nginx")),
            ("restart of PostgreSQL under load", RestartPostgresAsync),
            ("`down`, `up` with the data", DownUpAsync),
            ("`kill -9` of PostgreSQL under load, unlogged", KillUnloggedPostgresAsync),
            ("durable profile, `up --wait`", step => ChangeAsync(ComposeStack.Durable(rig.Docker), step, UpAsync)),
            ("restart of PostgreSQL under load, durable", RestartPostgresAsync),
            ("`kill -9` of PostgreSQL under load, durable", step => KillProcessAsync(step, "postgres")),
            ("the whole machine off and on, durable", PowerCutAsync),
            ("`down`, `up` with the data, durable", DownUpAsync),
            ("the preview at the challenge's entry alone, external network",
                step => ChangeAsync(ComposeStack.Entry(rig.Docker), step, ChallengeUpAsync)),
            ("`down` under load, `up` with the data", DownUnderLoadAsync),
        ];
        rig.Table.WriteHead();
        foreach (var (name, playAsync) in steps)
            await rig.Table.PlayAsync(name, playAsync, rig.Docker.Cancellation);
    }

    private async Task ChangeAsync(ComposeStack next, ContainerStep step, Func<ContainerStep, Task> playAsync)
    {
        await rig.ChangeAsync(next);
        await playAsync(step);
    }

    private async Task StartImagesAsync(ContainerStep step)
    {
        foreach (var image in new[] { "payment-gateway", "payment-processor-simulator" })
        {
            var size = await rig.Docker.RunAsync("image", "inspect", "-f", "{{.Size}}", $"{image}:local");
            if (Rig.Did(step, size, $"docker image inspect {image}"))
                step.Note(string.Create(
                    CultureInfo.InvariantCulture,
                    $"{image} {long.Parse(size.Output, CultureInfo.InvariantCulture) / 1e6:0.0} MB"));
        }

        // «not ready», and a wrong setting.
        await SaysNoAsync(step, "payment-gateway:local", "healthcheck");
        await SaysNoAsync(step, "-e", "Simulator__MaxPayments=0", "payment-processor-simulator:local");
    }

    private async Task SeeAKillForMemoryAsync(ContainerStep step)
    {
        const string name = $"{Docker.Project}-oom";
        await rig.Docker.RunAsync(
            "run", "--rm", "--name", name, "--label", Docker.ProjectLabel, "--memory", "16m",
            "--memory-swap", "16m", "--entrypoint", "sh", Environment.GetEnvironmentVariable("POSTGRES_IMAGE")!,
            "-c", "x=0123456789abcdef; while :; do x=$x$x; done");
        step.Must(
            await rig.WaitAsync(TimeSpan.FromSeconds(10), () => Task.FromResult(kills.Take().Contains(name))),
            "no kill was seen");
    }

    // By itself; 127 is a library that is missing.
    private async Task SaysNoAsync(ContainerStep step, params string[] arguments)
    {
        var said = await rig.Docker.RunAsync(["run", "--rm", .. arguments]);
        step.Must(
            said.Status == 1, $"`docker run {string.Join(' ', arguments)}` ended with {said.Status} instead of 1");
    }

    private async Task UpAsync(ContainerStep step)
    {
        rig.Ledger.Begin();
        if (!await rig.UpAsync(step))
            return;
        var statuses = await rig.Http.OperatorStatusesAsync();
        step.Must(
            statuses is [HttpStatusCode.OK, HttpStatusCode.OK, HttpStatusCode.NotFound],
            $"an operator's call at api1, api2 and nginx: {string.Join(", ", statuses)}");
    }

    private async Task LoadAsync(ContainerStep step)
    {
        await rig.Ledger.LoadHereAsync(step, 5);
        await rig.Ledger.CompareAsync(step);
    }

    private async Task DockerKillAsync(ContainerStep step)
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
    private async Task KillProcessAsync(ContainerStep step, string service)
    {
        if (await rig.KilledComesBackAsync(step, service))
            await rig.Ledger.CompareAsync(step);
    }

    private async Task RestartPostgresAsync(ContainerStep step)
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
    private async Task KillUnloggedPostgresAsync(ContainerStep step)
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
    private async Task DownUpAsync(ContainerStep step)
    {
        await rig.Ledger.KeepAsync();
        await rig.DownAsync(step);
        if (await rig.UpAsync(step))
            await LoadAndCompareAsync(step);
    }

    private async Task PowerCutAsync(ContainerStep step)
    {
        if (!Docker.IsOwn)
        {
            step.Skip("not with an engine that others use");
            return;
        }

        await rig.Ledger.KeepAsync();
        await rig.Docker.CutPowerAsync();
        kills.Watch();
        await rig.BecomesReadyAsync(step, Rig.BackLimit);
        foreach (var service in new[] { "api1", "api2", "postgres", "nginx" })
            await rig.BecomesHealthyAsync(step, service);
        await LoadAndCompareAsync(step);
    }

    private async Task ChallengeUpAsync(ContainerStep step)
    {
        if ((await rig.Docker.RunAsync("network", "inspect", Rig.Network)).Succeeded)
        {
            const string foreign = "there is a network payment-processor that is not ours";
            rig.Table.End(foreign);
            step.Skip(foreign);
            return;
        }

        rig.Table.End("not without the processors above");
        if (!await rig.MakeProcessorsAsync(step))
            return;
        rig.Table.End(null);
        rig.Ledger.Begin();
        if (!await rig.UpAsync(step))
            return;
        await rig.Ledger.PreviewHereAsync(step);
        await rig.Ledger.CompareAsync(step);
    }

    private async Task DownUnderLoadAsync(ContainerStep step)
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
