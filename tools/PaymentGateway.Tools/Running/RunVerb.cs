using System.CommandLine;

namespace PaymentGateway.Tools.Running;

/// <summary>The whole system in the foreground: Ctrl-C stops it, and so does the end of any part.</summary>
internal static class RunVerb
{
    public static Command Create()
    {
        var verb = new Command("run", "Starts the system in the foreground; Ctrl-C stops it.");
        verb.SetAction((_, cancellation) => RunAsync(SystemSettings.FromEnvironment(), cancellation));
        return verb;
    }

    private static async Task<int> RunAsync(SystemSettings settings, CancellationToken cancellation)
    {
        var system = new NativeSystem(settings, Console.Out);
        system.RefuseStart();
        await Publishing.PrepareAsync(settings, cancellation);
        await system.UpAsync(inForeground: true, cancellation);
        try
        {
            foreach (var line in SystemGreeting.Of(system))
                Console.WriteLine(line);
            Console.WriteLine("Ctrl-C stops it.");
            throw await system.FirstEndAsync(cancellation);
        }
        catch (OperationCanceledException)
        {
            Console.WriteLine("stopping");
            return 0;
        }
        catch (ToolException failure)
        {
            await Console.Error.WriteLineAsync($"payment-gateway: {failure.Message}");
            return failure.Status;
        }
        finally
        {
            await system.DownAsync();
        }
    }
}
