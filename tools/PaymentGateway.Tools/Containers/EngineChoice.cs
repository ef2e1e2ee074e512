using System.Net;
using System.Net.NetworkInformation;

namespace PaymentGateway.Tools.Containers;

/// <summary>The engine that runs here, if it has or pulls the pinned images; else one of our own.</summary>
internal static class EngineChoice
{
    private static readonly TimeSpan PullLimit = TimeSpan.FromMinutes(5);

    public static async Task<IEngine> MakeAsync(
        PinnedImages images, string scratch, CancellationToken cancellation)
    {
        var shared = new SharedEngine();
        var docker = new Docker(shared, cancellation);
        if (await RunsAsync(docker) && await HasAsync(docker, images))
        {
            // Else the loads and purges would go to whatever listens there.
            foreach (var port in EngineClients.Ports)
                if (IsTaken(port))
                    throw new ToolException($"compose-test cannot start: port {port} is in use");
            Console.WriteLine("the engine that runs here, and the pinned images");
            return shared;
        }

        var lacking = await EngineNeeds.LackingAsync(cancellation);
        if (lacking.Count > 0)
            throw new ToolException(
                "compose-test cannot run: no engine that has or pulls the pinned images, and one of its own lacks "
                + string.Join(';', lacking));
        return await MakeOwnAsync(images, scratch, cancellation);
    }

    private static async Task<IEngine> MakeOwnAsync(
        PinnedImages images, string scratch, CancellationToken cancellation)
    {
        var cache = new EngineCache(scratch);
        await cache.FillAsync(cancellation);
        var engine = new OwnEngine(cache.Engine, scratch);
        try
        {
            await engine.StartAsync(cancellation);
            var docker = new Docker(engine, cancellation);
            var version = await docker.ReadAsync("version", "-f", "{{.Server.Version}}");
            // Its network leads nowhere, so it cannot pull.
            Console.WriteLine($"an engine of its own ({version}), and substitutes for the pinned images");
            await new Substitutes(docker, images, cache.Tree, scratch).MakeAsync();
            return engine;
        }
        catch
        {
            await engine.DisposeAsync();
            throw;
        }
    }

    private static async Task<bool> RunsAsync(Docker docker) => Programs.Has(docker.Engine.Client)
        && (await docker.RunAsync("compose", "version")).Succeeded && (await docker.RunAsync("info")).Succeeded;

    private static async Task<bool> HasAsync(Docker docker, PinnedImages images)
    {
        foreach (var image in images.All)
            if (!(await docker.RunAsync("image", "inspect", image)).Succeeded && !await PullsAsync(docker, image))
            {
                Console.WriteLine($"the engine that runs here neither has nor pulls {image}");
                return false;
            }

        return true;
    }

    private static async Task<bool> PullsAsync(Docker docker, string image)
    {
        using var limit = CancellationTokenSource.CreateLinkedTokenSource(docker.Cancellation);
        limit.CancelAfter(PullLimit);
        try
        {
            return (await new Docker(docker.Engine, limit.Token).RunAsync("pull", "-q", image)).Succeeded;
        }
        catch (OperationCanceledException) when (!docker.Cancellation.IsCancellationRequested)
        {
            return false;
        }
    }

    private static bool IsTaken(int port) => IPGlobalProperties.GetIPGlobalProperties().GetActiveTcpListeners()
        .Any(listener => listener.Port == port
            && (IPAddress.IsLoopback(listener.Address) || listener.Address.Equals(IPAddress.Any)
                || listener.Address.Equals(IPAddress.IPv6Any)));
}
