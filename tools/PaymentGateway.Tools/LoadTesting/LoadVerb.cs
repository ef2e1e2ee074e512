using System.CommandLine;
using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>
/// The load tests: a system of its own, or what URL= names, under one simulation of gatling/; figures, Gatling's report
/// and a picture in artifacts/gatling.
/// </summary>
public static class LoadVerb
{
    private const string Settings =
        """
        -Dname=value goes to the simulation (seconds, users, minutes, multiple, hours, rate, …).
        URL DEFAULT_URL FALLBACK_URL TOKEN use what runs; LIMITS=1 puts the parts under the split of docker-compose.yml
        (the heaps only of a system that it starts)
        """;

    public static Command Create() => new("load", $"Load tests by Gatling. {Settings}")
    {
        Of("preview", "The challenge's practice load and its score, a minute.", hasShort: true),
        Of("final", "The load that decided the challenge and its score, five minutes.", hasShort: true),
        Of("stress", "Three times the preview's volume for 20 minutes."),
        Of("saturation", "More arrivals per second until it refuses or is slow: the knee."),
        Of("soak", "Few payments for hours, an outage every minute."),
        Of("audit", "Summaries fifty times a second while paying: never wrong, never late."),
        Compare(),
    };

    private static Command Of(string name, string description, bool hasShort = false)
    {
        var properties = new Argument<string[]>("properties") { Arity = ArgumentArity.ZeroOrMore };
        var verb = new Command(name, description) { properties };
        var shortened = new Option<bool>("--short") { Description = "Up to a minute of it, scaled, as .ci/run does." };
        if (hasShort)
            verb.Add(shortened);
        verb.SetAction((parsed, cancellation) => parsed.GetValue(shortened)
            ? ShortAsync(name, parsed.GetValue(properties)!, cancellation)
            : RunAsync(name, parsed.GetValue(properties)!, cancellation));
        return verb;
    }

    private static Command Compare()
    {
        var arguments = new Argument<string[]>("rounds and properties") { Arity = ArgumentArity.ZeroOrMore };
        var verb = new Command("compare", "SIDES=\"preview stub nginx\" in turn, medians; five rounds or as many.")
        {
            arguments,
        };
        verb.SetAction(async (parsed, cancellation) =>
        {
            var settings = SystemSettings.FromEnvironment();
            var given = parsed.GetValue(arguments)!;
            var rounds = 5;
            if (given is [var first, ..] && int.TryParse(first, CultureInfo.InvariantCulture, out var asked))
                (rounds, given) = (asked, given[1..]);
            DemandProperties(given);
            var sides = (settings["SIDES"] ?? "preview stub nginx")
                .Split(' ', StringSplitOptions.RemoveEmptyEntries);
            await DemandBuildAsync(cancellation);
            await Publishing.PrepareAsync(settings, cancellation);
            if (sides.Any(side => Loads.Of(side, given, settings).Side == SideKind.Stub))
                await StubProgram.PublishAsync(settings, cancellation);
            settings = settings.With(("NO_PUBLISH", "1"));
            return await new Comparison(sides, rounds, given, settings).RunAsync(cancellation);
        });
        return verb;
    }

    private static async Task<int> RunAsync(string load, string[] properties, CancellationToken cancellation)
    {
        DemandProperties(properties);
        await DemandBuildAsync(cancellation);
        return await RunAsync(Loads.Of(load, properties, SystemSettings.FromEnvironment()), cancellation);
    }

    /// <summary>A load that this machine cannot run is no load that passed: the last line says so.</summary>
    private static async Task<int> ShortAsync(string load, string[] properties, CancellationToken cancellation)
    {
        DemandProperties(properties);
        var settings = SystemSettings.FromEnvironment();
        if (await Maven.BuildAsync(cancellation) is { } lacking)
        {
            Console.WriteLine($"NOT RUN, lacks maven: the {load} load, so nothing of it was tested: {lacking}");
            return settings.Lacks.Contains("maven") ? 0 : 1;
        }

        return await RunAsync(Loads.Short(load, properties, settings), cancellation);
    }

    private static Task<int> RunAsync(LoadPlan plan, CancellationToken cancellation)
    {
        var settings = SystemSettings.FromEnvironment();
        var folder = settings["OUT"]
            ?? Repository.PathOf("artifacts", "gatling", $"{plan.Name}-{DateTime.UtcNow:yyyyMMdd-HHmmss}");
        return new LoadRun(plan, settings, Path.GetFullPath(folder), Console.Out).RunAsync(cancellation);
    }

    private static async Task DemandBuildAsync(CancellationToken cancellation)
    {
        if (await Maven.BuildAsync(cancellation) is { } lacking)
            throw new ToolException(lacking);
    }

    private static void DemandProperties(IEnumerable<string> given)
    {
        if (given.FirstOrDefault(each => !each.StartsWith("-D", StringComparison.Ordinal)) is { } other)
            throw new ToolException($"'{other}' is no -Dname=value for the simulation", 64);
    }
}
