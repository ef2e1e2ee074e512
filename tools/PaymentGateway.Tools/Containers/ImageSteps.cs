using System.Globalization;

namespace PaymentGateway.Tools.Containers;

/// <summary>Steps that need no stack: what the images say by themselves, and that a kill for memory is seen.</summary>
internal sealed class ImageSteps(Docker docker, PinnedImages images, MemoryKills kills)
{
    private const string Gateway = "payment-gateway";
    private const string Simulator = "payment-processor-simulator";

    public async Task StartAsync(ContainerStep step)
    {
        foreach (var image in new[] { Gateway, Simulator })
        {
            var megabytes = await docker.SizeAsync($"{image}:local") / 1e6;
            step.Note(string.Create(CultureInfo.InvariantCulture, $"{image} {megabytes:0.0} MB"));
        }

        // «not ready», and a wrong setting.
        await SaysNoAsync(step, $"{Gateway}:local", "healthcheck");
        await SaysNoAsync(step, "-e", "Simulator__MaxPayments=0", $"{Simulator}:local");
    }

    public async Task SeeAKillForMemoryAsync(ContainerStep step)
    {
        await docker.RunAsync(
            "run", "--rm", "--name", MemoryKills.Proof, "--label", Docker.ProjectLabel, "--memory", "16m",
            "--memory-swap", "16m", "--entrypoint", "sh", images.Postgres,
            "-c", "x=0123456789abcdef; while :; do x=$x$x; done");
        step.Must(
            await Waiting.HoldsAsync(TimeSpan.FromSeconds(10), () => Task.FromResult(kills.ProofWasSeen)),
            "no kill was seen");
    }

    // By itself; 127 is a library that is missing.
    private async Task SaysNoAsync(ContainerStep step, params string[] arguments)
    {
        var said = await docker.RunAsync(["run", "--rm", .. arguments]);
        step.Must(
            said.Status == 1, $"`docker run {string.Join(' ', arguments)}` ended with {said.Status} instead of 1");
    }
}
