using System.CommandLine;

namespace PaymentGateway.Tools.Containers;

/// <summary>
/// The containers on a real engine, which the script `engine` provides: `docker compose up` in each way that docs name,
/// with everything killed and restarted under load, and every payment compared.
/// </summary>
public static class ContainersVerb
{
    private const string Steps = "steps";
    private const string Look = "shell";

    public static Command Create()
    {
        var what = new Argument<string>("what")
        {
            Description = "the steps, or a shell beside the built images",
            DefaultValueFactory = _ => Steps,
        };
        what.AcceptOnlyFromAmong(Steps, Look);
        var verb = new Command("compose-test", "The containers on a real engine, everything killed and restarted.")
        {
            what,
        };
        verb.SetAction((parsed, cancellation) => RunAsync(parsed.GetValue(what)!, cancellation));
        return verb;
    }

    private static async Task<int> RunAsync(string what, CancellationToken cancellation)
    {
        var took = Stopwatch.StartNew();
        // On an engine that others use the loads and purges would go to whatever listens there.
        foreach (var port in EngineClients.Ports)
            Readiness.RefuseTaken("compose-test", port);
        var docker = new Docker(cancellation);
        using var kills = new MemoryKills(docker);
        kills.Watch();
        await BuildAsync(docker);
        Console.WriteLine($"built after {(int)took.Elapsed.TotalSeconds} s");
        var table = new StepTable(Console.Out, kills.Take);
        using var rig = new Rig(docker, table);
        try
        {
            if (what == Look)
                return await Shell.ShowAsync(["bash"], cancellation: cancellation);
            await new ContainerSteps(rig, kills).PlayAsync();
            table.WriteEnd(took.Elapsed);
            return table.Succeeded ? 0 : 1;
        }
        finally
        {
            // An engine of our own ends with all that it has.
            if (!Docker.IsOwn)
                await Rig.RemoveAsync();
        }
    }

    private static async Task BuildAsync(Docker docker)
    {
        // Their values are those of the environment, if any.
        var built = await docker.RunAsync(
            "compose", "build", "--build-arg", "FRAMEWORK", "--build-arg", "RID", "--build-arg", "NUGET_AUDIT");
        if (built.Succeeded)
        {
            if (Docker.IsOwn)
                await CopyProgramsAsync(docker);
            return;
        }

        var said = $"{built.Output}{built.Errors}".Trim().Split('\n');
        await Console.Error.WriteLineAsync(string.Join('\n', said.TakeLast(30)));
        throw new ToolException("the images could not be built");
    }

    // An engine of our own builds with this machine's SDK and libc, so its binaries run here as well (.ci/run).
    private static async Task CopyProgramsAsync(Docker docker)
    {
        var folder = Directory.CreateDirectory(Repository.PathOf("artifacts", "images")).FullName;
        foreach (var (image, program) in new[]
        {
            ("payment-gateway:local", "PaymentGateway"), ("payment-processor-simulator:local", "ProcessorSimulator"),
        })
        {
            var container = (await docker.RunAsync("create", image)).Output.Trim();
            await docker.RunAsync("cp", $"{container}:/app/{program}", folder);
            await docker.RunAsync("rm", container);
        }

        await File.WriteAllTextAsync(Path.Combine(folder, "complete"), "");
    }
}
