using System.CommandLine;

namespace PaymentGateway.Tools.Running;

/// <summary>A system in the background, as a whole and by its parts.</summary>
internal static class SystemVerbs
{
    public static IEnumerable<Command> Create() =>
    [
        Verb("up", "Starts the system in the background.", UpAsync),
        Verb("down", "Stops what `up` or `run` started.", DownAsync),
        Verb("status", "Says which parts run; 1 when one does not.", (_, _) => Task.FromResult(Status())),
        PartsVerb("start", "Starts single parts.", (system, parts, cancellation) =>
            system.StartAsync(parts, cancellation)),
        PartsVerb("stop", "Stops single parts.", (system, parts, _) => system.StopAsync(parts)),
        KillVerb(),
    ];

    private static async Task<int> UpAsync(ParseResult parsed, CancellationToken cancellation)
    {
        var system = Of(SystemSettings.FromEnvironment());
        system.RefuseStart();
        await Publishing.PrepareAsync(SystemSettings.FromEnvironment(), cancellation);
        await system.UpAsync(cancellation);
        foreach (var line in SystemGreeting.Of(system))
            Console.WriteLine(line);
        Console.WriteLine("'make down' stops it.");
        return 0;
    }

    private static async Task<int> DownAsync(ParseResult parsed, CancellationToken cancellation)
    {
        var system = Of(SystemSettings.FromEnvironment());
        if (!await system.DownAsync())
            Console.WriteLine($"nothing runs in {system.RunDirectory}");
        return 0;
    }

    private static int Status()
    {
        var system = Of(SystemSettings.FromEnvironment());
        var status = 0;
        foreach (var part in system.Parts)
        {
            var pid = system.PidOf(part);
            Console.WriteLine(pid is null ? $"{part} does not run" : $"{part} runs, pid {pid}");
            status = pid is null ? 1 : status;
        }

        return status;
    }

    private static Command KillVerb()
    {
        var part = new Argument<string>("part");
        var signal = new Argument<string>("signal") { DefaultValueFactory = _ => "KILL" };
        var verb = new Command("kill", "Sends a part a signal, KILL when none is named.") { part, signal };
        verb.SetAction(async (parsed, _) =>
        {
            var sent = Signals.Parse(parsed.GetRequiredValue(signal));
            await Of(SystemSettings.FromEnvironment()).KillAsync(parsed.GetRequiredValue(part), sent);
            return 0;
        });
        return verb;
    }

    private static Command PartsVerb(
        string name, string what, Func<NativeSystem, string[], CancellationToken, Task> action)
    {
        var parts = new Argument<string[]>("parts") { Arity = ArgumentArity.OneOrMore };
        var verb = new Command(name, what) { parts };
        verb.SetAction(async (parsed, cancellation) =>
        {
            await action(Of(SystemSettings.FromEnvironment()), parsed.GetRequiredValue(parts), cancellation);
            return 0;
        });
        return verb;
    }

    private static Command Verb(string name, string what, Func<ParseResult, CancellationToken, Task<int>> action)
    {
        var verb = new Command(name, what);
        verb.SetAction(action);
        return verb;
    }

    private static NativeSystem Of(SystemSettings settings) => new(settings, Console.Out);
}
