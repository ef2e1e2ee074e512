namespace PaymentGateway.Tools.Containers;

/// <summary>Which steps there are, in which order, and with which of the compose files.</summary>
internal sealed class AllSteps(Rig rig, ImageSteps images, StackSteps steps)
{
    public async Task PlayAsync()
    {
        rig.Table.WriteHead();
        await PlayAsync("both images start", images.StartAsync);
        await PlayAsync("a kill for memory is seen", images.SeeAKillForMemoryAsync);
        await PlayWithSimulatorsAsync();
        await rig.ChangeAsync(ComposeStack.Durable(rig.Docker));
        await PlayDurableAsync();
        await rig.ChangeAsync(ComposeStack.Challenge(rig.Docker));
        await PlayAsync("the challenge's file alone, external network", steps.ChallengeUpAsync);
        await PlayAsync("`down` under load, `up` with the data", steps.DownUnderLoadAsync);
    }

    private async Task PlayWithSimulatorsAsync()
    {
        await PlayAsync("`docker compose up -d --wait`, with simulators", steps.UpAsync);
        await PlayAsync("2,000 payments", steps.LoadAsync);
        await PlayAsync("`docker kill` of an instance under load, `up` again", steps.DockerKillAsync);
        await PlayAsync("`kill -9` of an instance's process under load", step => steps.KillProcessAsync(step, "api2"));
        await PlayAsync("`kill -9` of nginx under load", step => steps.KillProcessAsync(step, "nginx"));
        await PlayAsync("restart of PostgreSQL under load", steps.RestartPostgresAsync);
        await PlayAsync("`down`, `up` with the data", steps.DownUpAsync);
        await PlayAsync("`kill -9` of PostgreSQL under load, unlogged", steps.KillUnloggedPostgresAsync);
    }

    private async Task PlayDurableAsync()
    {
        await PlayAsync("durable profile, `up --wait`", steps.UpAsync);
        await PlayAsync("restart of PostgreSQL under load, durable", steps.RestartPostgresAsync);
        await PlayAsync(
            "`kill -9` of PostgreSQL under load, durable", step => steps.KillProcessAsync(step, "postgres"));
        await PlayAsync("the whole machine off and on, durable", steps.PowerCutAsync);
        await PlayAsync("`down`, `up` with the data, durable", steps.DownUpAsync);
    }

    private Task PlayAsync(string name, Func<ContainerStep, Task> playAsync) =>
        rig.Table.PlayAsync(name, playAsync, rig.Docker.Cancellation);
}
