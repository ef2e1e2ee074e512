using FsCheck.Fluent;

namespace PaymentGateway.Tests.Simulation;

/// <summary>A schedule: the seed of everything that its steps leave open, and the steps.</summary>
internal sealed record Schedule(int Seed, int Instances, IReadOnlyList<Step> Steps)
{
    private static readonly Gen<Step> Asked =
        from verb in Gen.Elements(Verb.LookUp, Verb.LookUp, Verb.List, Verb.Summarise, Verb.Conflict)
        from who in Fragments.Instance
        select new Step(verb, who);

    /// <summary>Steps that are dangerous together stand together.</summary>
    public static Arbitrary<Schedule> All { get; } = Arb.From(
        from seed in Gen.Choose(0, int.MaxValue - 1)
        from instances in Gen.Elements(2, 2, 2, 3)
        from count in Gen.Choose(2, 4)
        from fragments in Gen.ListOf(Fragments.All, count)
        from asked in Gen.ListOf(Asked, count)
        select new Schedule(
            seed, instances,
            [
                new Step(Verb.Pay, 0), new Step(Verb.Pay, 1),
                .. fragments.Zip(asked, (steps, ask) => steps.Append(ask)).SelectMany(steps => steps),
            ]),
        Shrink);

    /// <summary>Reads what <see cref="ToString"/> writes.</summary>
    public static Schedule Parse(string text)
    {
        var parts = text.Split([", ", ": ", "; "], StringSplitOptions.None);
        return new Schedule(Number(parts[0]), Number(parts[1]), [.. parts.Skip(2).Select(Step.Parse)]);

        static int Number(string part) => int.Parse(part.Split(' ')[^1], CultureInfo.InvariantCulture);
    }

    public override string ToString() => $"seed {Seed}, instances {Instances}: {string.Join("; ", Steps)}";

    // Without each run of steps: long ones first.
    private static IEnumerable<Schedule> Shrink(Schedule schedule)
    {
        for (var length = schedule.Steps.Count / 2; length > 0; length /= 2)
            for (var at = 0; at + length <= schedule.Steps.Count; at += length)
                yield return schedule with
                {
                    Steps = [.. schedule.Steps.Take(at), .. schedule.Steps.Skip(at + length)],
                };
    }
}
