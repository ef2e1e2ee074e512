using System.CommandLine;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring.AbTesting;

/// <summary>
/// Which of two or more is cheaper, where the machine drifts by more than they differ: all of them are up at once,
/// loaded in turn by short bursts at fixed moments, and compared within each round.
/// </summary>
public static class AbVerb
{
    private const string Description =
        """
        An A/B run: which variant costs less CPU. A variant is NAME[=VARIABLE=VALUE …]: the shipped system with these
        variables. CLONE=DIR takes another clone's scripts, settings and binaries, published there; FRAMEWORK=net10.0
        takes what `make publish FRAMEWORK=net10.0` left. Settings: LIMITS=1 ROUNDS RATE SECONDS_EACH; RATE=0 is as
        fast as 64 connections can, by wrk.
        Example: shipped 'often=Gateway__Recording__Linger=40ms'
        """;

    public static Command Create()
    {
        var variants = new Argument<string[]>("variant") { Arity = new ArgumentArity(2, 100) };
        var verb = new Command("ab", Description) { variants };
        verb.SetAction((parsed, cancellation) =>
            RunAsync([.. parsed.GetValue(variants)!.Select(AbVariant.Parse)], cancellation));
        return verb;
    }

    private static async Task<int> RunAsync(AbVariant[] variants, CancellationToken cancellation)
    {
        if (variants.DistinctBy(variant => variant.Name).Count() < variants.Length)
            throw new ToolException("two variants have the same name");

        var settings = SystemSettings.FromEnvironment();
        await Publishing.PrepareAsync(settings, cancellation);
        var folder = Directory.CreateTempSubdirectory("payment-gateway-ab.");
        // PostgreSQL runs as another user.
        folder.UnixFileMode |= UnixFileMode.GroupRead | UnixFileMode.GroupExecute
            | UnixFileMode.OtherRead | UnixFileMode.OtherExecute;
        AbSystem[] systems = [.. variants.Select(variant => new AbSystem(variant, settings, folder.FullName))];
        try
        {
            await MeasureAsync(systems, settings, cancellation);
        }
        finally
        {
            foreach (var system in systems)
                await system.DisposeAsync();
            folder.Delete(recursive: true);
        }

        return 0;
    }

    private static async Task MeasureAsync(
        AbSystem[] systems, SystemSettings settings, CancellationToken cancellation)
    {
        var rounds = BenchSettings.NumberOf(settings, "ROUNDS", 10);
        var rate = BenchSettings.NumberOf(settings, "RATE", 280);
        var seconds = BenchSettings.NumberOf(settings, "SECONDS_EACH", 4);
        foreach (var system in systems)
            await system.StartAsync(rate, cancellation);

        var limits = settings.Limits ? "under limits, " : "";
        Console.WriteLine($"A/B run of {DateTime.UtcNow:yyyy-MM-dd HH:mm} UTC, {limits}"
            + $"{(rate == 0 ? "as fast as can be" : $"{rate}/s")} for {seconds} s each, "
            + $"{rounds} rounds in random orders");
        foreach (var variant in systems.Select(system => system.Variant))
            Console.WriteLine($"{variant.Name}: commit {await Commit.ReadAsync(cancellation, variant.Root)}");

        var bursts = new List<AbBurst>();
        for (var round = 1; round <= rounds; round++)
        {
            foreach (var system in systems.OrderBy(_ => Random.Shared.Next()))
                bursts.Add(await system.PayAsync(round, rate, seconds, cancellation));
        }

        Console.WriteLine();
        foreach (var line in AbTable.Of([.. systems.Select(system => system.Variant.Name)], bursts))
            Console.WriteLine(line);
    }
}
