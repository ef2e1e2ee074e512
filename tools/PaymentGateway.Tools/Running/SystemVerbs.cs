using System.CommandLine;

namespace PaymentGateway.Tools.Running;

/// <summary>A system in the foreground or in the background, as a whole and by its parts.</summary>
internal static class SystemVerbs
{
    private const string Json = "content-type: application/json";

    public static IEnumerable<Command> Create()
    {
        yield return Verb("run", "Starts the system in the foreground; Ctrl-C stops it.", RunAsync);
        yield return Verb("up", "Starts the system in the background.", UpAsync);
        yield return Verb("down", "Stops what `up` or `run` started.", DownAsync);
        var parts = new Argument<string[]>("parts") { Arity = ArgumentArity.ZeroOrMore };
        yield return Verb(
            "start", "Starts single parts; all when none is named, and then without reconciliation.",
            (system, parsed, cancellation) => system.StartAsync(
                parsed.GetValue(parts) is { Length: > 0 } named ? named : system.Parts, cancellation),
            parts);
        var part = new Argument<string>("part");
        var signal = new Argument<string>("signal") { DefaultValueFactory = _ => "KILL" };
        yield return Verb(
            "kill", "Sends a part a signal, KILL when none is named.",
            (system, parsed, _) => KillAsync(system, parsed.GetRequiredValue(part), parsed.GetRequiredValue(signal)),
            part, signal);
    }

    /// <summary>Until Ctrl-C, or until any part ends.</summary>
    private static async Task RunAsync(NativeSystem system, ParseResult parsed, CancellationToken cancellation)
    {
        system.RefuseStart();
        await system.UpAsync(inForeground: true, cancellation);
        try
        {
            Greet(system);
            Console.WriteLine("Ctrl-C stops it.");
            throw await system.FirstEndAsync(cancellation);
        }
        catch (OperationCanceledException)
        {
            Console.WriteLine("stopping");
        }
        finally
        {
            await system.DownAsync();
        }
    }

    private static async Task UpAsync(NativeSystem system, ParseResult parsed, CancellationToken cancellation)
    {
        system.RefuseStart();
        await system.UpAsync(cancellation);
        Greet(system);
        Console.WriteLine("'make down' stops it.");
    }

    private static async Task DownAsync(NativeSystem system, ParseResult parsed, CancellationToken cancellation)
    {
        if (!await system.DownAsync())
            Console.WriteLine($"nothing runs in {system.RunDirectory}");
    }

    private static Task KillAsync(NativeSystem system, string part, string signal) => signal == "KILL"
        ? system.KillAsync(part)
        : Shell.ReadAsync(["kill", "-s", signal, $"{system.RequirePid(part)}"]);

    /// <summary>Says that it is ready, and what to try.</summary>
    private static void Greet(NativeSystem system)
    {
        string[] lines =
        [
            $"ready - gateway {system.Url}, default {system.DefaultUrl}, fallback {system.FallbackUrl}"
                + string.Concat(system.Settings.Further.Select(
                    name => $", {name} {SystemSettings.Local(system.Settings.PortOf(name))}")) + "; "
                + $"logs in {system.LogDirectory}",
            "try:",
            $"  curl -i -H '{Json}' -d '{{\"correlationId\":\"{Guid.NewGuid()}\",\"amount\":19.90}}' "
                + $"{system.Url}/payments",
            $"  curl {system.Url}/payments-summary",
            $"  in a browser: {system.Settings.AdminUrl}/ops and {system.Url}/docs",
        ];
        foreach (var line in lines)
            Console.WriteLine(line);
        // Only our own simulator is there to be broken.
        if (!system.Settings.HasOutsideDefault)
            Console.WriteLine($"  curl -X PUT -H 'X-Rinha-Token: 123' -H '{Json}' -d '{{\"failure\":true}}' "
                + $"{system.DefaultUrl}/admin/configurations/failure");
    }

    private static Command Verb(
        string name, string what, Func<NativeSystem, ParseResult, CancellationToken, Task> action,
        params Argument[] arguments)
    {
        var verb = new Command(name, what);
        foreach (var argument in arguments)
            verb.Add(argument);
        verb.SetAction(async (parsed, cancellation) =>
        {
            var settings = SystemSettings.FromEnvironment();
            // Not for measurements: in the challenge no call of a processor's administrator may leave the gateway.
            if (name is "run" or "up")
                settings = settings.WithReconciliation();
            await action(new NativeSystem(settings, Console.Out), parsed, cancellation);
            return 0;
        });
        return verb;
    }
}
