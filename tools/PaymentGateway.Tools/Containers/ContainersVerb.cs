using System.CommandLine;
using System.Diagnostics;

namespace PaymentGateway.Tools.Containers;

/// <summary>
/// The containers on a real engine: `docker compose up` in each way that docs name, with everything killed and
/// restarted under load, and every payment compared. docs/containers.md says what stands in for what.
/// </summary>
public static class ContainersVerb
{
    private const string Steps = "steps";
    private const string Peaks = "peaks";
    private const string Look = "shell";

    public static Command Create()
    {
        var what = new Argument<string>("what")
        {
            Description = "the steps; memory of each container under each load; a shell beside the built images",
            DefaultValueFactory = _ => Steps,
        };
        what.AcceptOnlyFromAmong(Steps, Peaks, Look);
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
        var scratch = Directory.CreateTempSubdirectory("payment-gateway-compose.").FullName;
        try
        {
            var images = PinnedImages.Read();
            await using var engine = await EngineChoice.MakeAsync(images, scratch, cancellation);
            var docker = new Docker(engine, cancellation);
            using var kills = new MemoryKills(docker);
            kills.Watch();
            await BuildAsync(docker, took);
            var table = new StepTable(Console.Out, kills.Take);
            using var rig = new Rig(docker, table);
            try
            {
                return what switch
                {
                    Peaks => await new PeakLoads(rig, kills).MeasureAsync(),
                    Look => await LookAsync(engine),
                    _ => await PlayAsync(rig, images, kills, took),
                };
            }
            finally
            {
                // One of our own ends with all that it has.
                if (!engine.IsOwn)
                    await rig.RemoveAsync();
            }
        }
        finally
        {
            // Names in its images need not be text to .NET.
            await Shell.RunAsync(["rm", "-rf", scratch], cancellation: CancellationToken.None);
        }
    }

    private static async Task BuildAsync(Docker docker, Stopwatch took)
    {
        Console.WriteLine($"building ({(int)took.Elapsed.TotalSeconds} s so far)");
        var built = await docker.RunAsync("compose", "build");
        if (built.Succeeded)
            return;
        var said = $"{built.Output}{built.Errors}".Trim().Split('\n');
        await Console.Error.WriteLineAsync(string.Join('\n', said.TakeLast(30)));
        throw new ToolException("the images could not be built");
    }

    private static async Task<int> PlayAsync(Rig rig, PinnedImages images, MemoryKills kills, Stopwatch took)
    {
        Console.WriteLine($"built ({(int)took.Elapsed.TotalSeconds} s so far)");
        var steps = new StackSteps(rig, rig.Docker.Engine as OwnEngine, kills);
        await new AllSteps(rig, new ImageSteps(rig.Docker, images, kills), steps).PlayAsync();
        rig.Table.WriteEnd(took.Elapsed);
        return rig.Table.Succeeded ? 0 : 1;
    }

    private static async Task<int> LookAsync(IEngine engine)
    {
        var start = new ProcessStartInfo("bash") { WorkingDirectory = Repository.Root };
        foreach (var (name, value) in engine.Variables)
            start.Environment[name] = value;
        using var shell = Process.Start(start)!;
        await shell.WaitForExitAsync(CancellationToken.None);
        return shell.ExitCode;
    }
}
