using FsCheck.Fluent;

namespace PaymentGateway.Tests.Simulation;

/// <summary>The kinds of steps: first the calls of clients and operators.</summary>
internal enum Verb
{
    Pay, // A new payment.
    Repeat, // An earlier one again.
    Conflict, // Its id with another amount.
    LookUp,
    List,
    Summarise,
    Purge,
    Replay, // Parked payments are to be settled after all.
    Reconcile, // And repairs.
    Wait,
    Break, // Charges at a processor have a fault from now on; None ends it.
    Silence, // Look-ups at a processor break, for so many seconds.
    Arm, // Does a verb when the instance reaches a point.
    Freeze,
    Continue,
    Kill,
    Start,
    Stop,
    Cut, // Connections to the database break.
    Stall, // Statements are not executed, for so many seconds.
    Hold, // Executes the INSERT that is due, and commits it after so many seconds.
    Delay, // The statement that is due is executed after so many seconds, though its instance may have ended.
    Lose, // Answers the outcomes that are recorded next, and does not commit them.
    Crash, // PostgreSQL restarts, and its unlogged tables are empty.
    Skew, // The wall clock of an instance is so far from the true time.
    Jump, // That of the database.
    Age, // All wall clocks are 26 hours later, so settled payments are old.
}

/// <summary>Where an armed verb meets an instance.</summary>
internal enum Point
{
    Connects, // To a processor, before the lease is looked at for the last time.
    Sent, // A charge is at the processor.
    UsesFallback, // The same at a dearer one than default.
    Stored, // It is stored there and not answered.
    Inserts, // A payment's INSERT is to be executed.
    Inserted, // It was, and is not answered.
    Records,
    Recorded,
    Renews,
    Renewed,
    Adopts,
    Adopted,
}

/// <summary>A step of a schedule; instances and processors by number.</summary>
internal sealed record Step(
    Verb Verb, int Who = 0, double Seconds = 0, Fault Fault = default, Point Point = default, Verb Armed = default)
{
    public static Step Parse(string text)
    {
        var words = text.Split(' ');
        var step = new Step(
            Enum.Parse<Verb>(words[0]), int.Parse(words[1], CultureInfo.InvariantCulture),
            double.Parse(words[2], CultureInfo.InvariantCulture));
        return step.Verb switch
        {
            Verb.Break => step with { Fault = Enum.Parse<Fault>(words[3]) },
            Verb.Arm => step with { Point = Enum.Parse<Point>(words[3]), Armed = Enum.Parse<Verb>(words[4]) },
            _ => step,
        };
    }

    public override string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{Verb} {Who} {Seconds}{Verb switch { Verb.Break => $" {Fault}", Verb.Arm => $" {Point} {Armed}", _ => "" }}");
}

/// <summary>A schedule: the seed of everything that its steps leave open, and the steps.</summary>
internal sealed record Schedule(int Seed, int Instances, IReadOnlyList<Step> Steps)
{
    private const int Default = 1;
    private const int Fallback = 2;
    private const int Third = 3; // Fallback where there are two.

    // Around the lease of 3 s, renewals of 1 s, the fallback delay and the call timeout of 10 s, the horizon of 15 s.
    private static readonly Gen<double> Short = Gen.Elements(0.0, 0.02, 0.1, 0.4, 0.8, 1.1);
    private static readonly Gen<double> Long = Gen.Elements(2.6, 3.3, 4.2, 4.2, 5.5, 8, 11, 14, 19, 24);
    private static readonly Gen<double> Any = Gen.OneOf(Short, Long);
    private static readonly Gen<double> Late = Gen.Elements(0.3, 1.5, 2.9, 4, 6, 9, 11, 13, 14.4);
    private static readonly Gen<int> Instance = Gen.Elements(0, 0, 0, 0, 1, 1, 2);
    private static readonly Gen<int> At = Gen.Elements(Default, Default, Fallback, Third);
    private static readonly Gen<Fault> Doubtful =
        Gen.Elements(Fault.Breaks, Fault.Breaks, Fault.Hangs, Fault.Slow, Fault.Drops, Fault.Errs);

    private static readonly Gen<Verb> Disturbing =
        Gen.Elements(Verb.Kill, Verb.Kill, Verb.Freeze, Verb.Freeze, Verb.Stop, Verb.Cut, Verb.Purge, Verb.Stall);

    // Moments that are wrong for it.
    private static readonly Gen<(Point Point, Verb Verb)> Moments = Gen.Elements(
        (Point.Connects, Verb.Freeze), (Point.Connects, Verb.Freeze), (Point.Connects, Verb.Freeze),
        (Point.Connects, Verb.Freeze), (Point.Connects, Verb.Purge), (Point.Sent, Verb.Purge),
        (Point.Sent, Verb.Kill), (Point.Sent, Verb.Kill), (Point.Sent, Verb.Freeze), (Point.Sent, Verb.Purge),
        (Point.Sent, Verb.Stop), (Point.Stored, Verb.Kill), (Point.Stored, Verb.Freeze), (Point.Stored, Verb.Purge),
        (Point.Inserts, Verb.Hold), (Point.Inserts, Verb.Hold), (Point.Inserts, Verb.Kill), (Point.Inserts, Verb.Cut),
        (Point.Inserts, Verb.Delay), (Point.Inserts, Verb.Delay), (Point.Records, Verb.Delay),
        (Point.Renews, Verb.Delay),
        (Point.Inserted, Verb.Kill), (Point.Inserted, Verb.Cut), (Point.Inserted, Verb.Purge),
        (Point.Inserted, Verb.Freeze), (Point.Records, Verb.Kill), (Point.Records, Verb.Freeze),
        (Point.Records, Verb.Purge), (Point.Recorded, Verb.Kill), (Point.Recorded, Verb.Cut),
        (Point.Renews, Verb.Freeze), (Point.Renews, Verb.Cut), (Point.Renewed, Verb.Cut), (Point.Renewed, Verb.Freeze),
        (Point.Adopts, Verb.Kill), (Point.Adopts, Verb.Freeze), (Point.Adopted, Verb.Kill), (Point.Adopted, Verb.Cut));

    private static readonly Gen<(Point Point, Verb Verb)> AdopterMoments = Gen.Elements(
        (Point.Adopts, Verb.Delay), (Point.Adopts, Verb.Delay), (Point.Adopts, Verb.Delay), (Point.Adopts, Verb.Kill),
        (Point.Adopts, Verb.Purge), (Point.Adopts, Verb.Cut), (Point.Adopted, Verb.Cut), (Point.Adopted, Verb.Cut),
        (Point.Adopted, Verb.Kill), (Point.Adopted, Verb.Freeze), (Point.Adopted, Verb.Purge));

    private static readonly Gen<Step[]> Fragments = Gen.Frequency(
        (3, Requests()), (4, LateStore()), (6, FallbackInUse()), (4, DoubtInOutage()), (4, Frozen()), (6, Disturbed()),
        (2, Silenced()), (3, Clocks()), (3, Parked()), (1, Reconciled()), (1, Aged()), (3, Crashed()),
        (5, Adopted()), (2, Delayed()));

    private static readonly Gen<Step> Asked =
        from verb in Gen.Elements(Verb.LookUp, Verb.LookUp, Verb.List, Verb.Summarise, Verb.Conflict)
        from who in Instance
        select Step(verb, who);

    /// <summary>Steps that are dangerous together stand together.</summary>
    public static Arbitrary<Schedule> All { get; } = Arb.From(
        from seed in Gen.Choose(0, int.MaxValue - 1)
        from instances in Gen.Elements(2, 2, 2, 3)
        from count in Gen.Choose(2, 4)
        from fragments in Gen.ListOf(Fragments, count)
        from asked in Gen.ListOf(Asked, count)
        select new Schedule(
            seed, instances,
            [
                Step(Verb.Pay, 0), Step(Verb.Pay, 1),
                .. fragments.Zip(asked, (steps, ask) => steps.Append(ask)).SelectMany(steps => steps),
            ]),
        Shrink);

    /// <summary>Reads what <see cref="ToString"/> writes.</summary>
    public static Schedule Parse(string text)
    {
        var parts = text.Split([", ", ": ", "; "], StringSplitOptions.None);
        return new Schedule(Number(parts[0]), Number(parts[1]), [.. parts.Skip(2).Select(Simulation.Step.Parse)]);

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

    private static int Other(int who) => who == 0 ? 1 : 0;

    private static Step Step(Verb verb, int who = 0, double seconds = 0) => new(verb, who, seconds);

    private static Step Break(int who, Fault fault, double seconds = 0) => new(Verb.Break, who, seconds, fault);

    // Ends whatever a disturbing verb has begun.
    private static Step[] Recover(int who) => [Step(Verb.Continue, who), Step(Verb.Start, who)];

    private static Gen<Step[]> Requests() =>
        from verb in Gen.Elements(Verb.Pay, Verb.Pay, Verb.Repeat, Verb.Conflict)
        from who in Instance
        from pause in Any
        select (Step[])[Step(verb, who), Step(verb, Other(who)), Step(Verb.Wait, 0, pause)];

    // A charge is answered by nothing and stored late, while the other processor works.
    private static Gen<Step[]> LateStore() =>
        from at in At
        from who in Instance
        from fault in Doubtful
        from late in Late
        from after in Gen.Elements(Fault.None, Fault.Fails, Fault.Fails, Fault.Refuses)
        from pause in Short
        from wait in Any
        select (Step[])
        [
            Break(at, fault, late), Step(Verb.Pay, who), Step(Verb.Wait, 0, pause), Break(at, after),
            Step(Verb.Wait, 0, wait),
        ];

    // Default fails until fallback is used, which is then in doubt; and the instance ends, or is frozen.
    private static Gen<Step[]> FallbackInUse() =>
        from who in Instance
        from outage in Gen.Elements(10.3, 11, 12.5)
        from fault in Gen.OneOf(Gen.Constant(Fault.None), Doubtful)
        from late in Late
        from pause in Short
        from disturbing in Gen.Frequency((4, Disturbing), (1, Gen.Constant(Verb.Wait)))
        from wait in Long
        from back in Gen.Elements(Fault.None, Fault.None, Fault.Fails)
        from armed in Gen.SubListOf(new Step(Verb.Arm, who, 2, default, Point.UsesFallback, disturbing))
        select (Step[])
        [
            Break(Default, Fault.Fails), .. armed, Step(Verb.Pay, who), Step(Verb.Wait, 0, outage),
            Break(Fallback, fault, late), Step(Verb.Pay, who), Step(Verb.Wait, 0, pause),
            Step(armed.Count > 0 ? Verb.Wait : disturbing, who, 0.8), Break(Default, back),
            Break(Fallback, Fault.None), Step(Verb.Wait, 0, wait), .. Recover(who), Step(Verb.Wait, 0, pause),
        ];

    // A charge at default is in doubt when its payment is old enough for fallback, and default goes on failing.
    private static Gen<Step[]> DoubtInOutage() =>
        from who in Instance
        from outage in Gen.Elements(7.0, 9.5, 10.3)
        from fault in Doubtful
        from late in Late
        from pause in Gen.Elements(0.4, 0.8, 1.1, 2.6)
        from disturbing in Gen.Frequency((4, Disturbing), (2, Gen.Constant(Verb.Stop)), (1, Gen.Constant(Verb.Wait)))
        from wait in Long
        select (Step[])
        [
            Break(Default, Fault.Fails), Step(Verb.Pay, who), Step(Verb.Wait, 0, outage), Break(Default, fault, late),
            Step(Verb.Wait, 0, pause), Break(Default, Fault.Fails), Step(disturbing, who, pause),
            Step(Verb.Wait, 0, wait), .. Recover(who), Step(Verb.Wait, 0, pause),
        ];

    // A frozen instance continues when the other one has taken over; at once it is asked for more, or goes on alone.
    private static Gen<Step[]> Frozen() =>
        from who in Instance
        from fault in Gen.Elements(Fault.None, Fault.Fails, Fault.Fails, Fault.Slow)
        from pause in Short
        from wait in Long
        from back in Gen.Elements(Fault.None, Fault.Fails)
        from asked in Gen.SubListOf(Step(Verb.Pay, Other(who)), Step(Verb.Pay, who))
        from purge in Gen.SubListOf(Step(Verb.Purge, who))
        from askedThen in Gen.SubListOf(Step(Verb.Pay, who))
        select (Step[])
        [
            Break(Default, fault, 1), Step(Verb.Pay, who), Step(Verb.Wait, 0, pause), Step(Verb.Freeze, who),
            .. purge, Step(Verb.Wait, 0, wait), .. asked, Break(Default, back), Step(Verb.Continue, who), .. askedThen,
            Step(Verb.Wait, 0, pause),
        ];

    // Something happens at exactly the wrong moment.
    private static Gen<Step[]> Disturbed() =>
        from who in Instance
        from moment in Moments
        from seconds in Gen.Elements(0.5, 2, 2, 4.2, 8)
        from fault in Gen.Elements(Fault.None, Fault.Fails, Fault.Breaks, Fault.Slow)
        from late in Late
        from pause in Short
        from back in Gen.Elements(Fault.None, Fault.Fails)
        from wait in Long
        select (Step[])
        [
            Break(Default, fault, late), new Step(Verb.Arm, who, seconds, default, moment.Point, moment.Verb),
            Step(Verb.Pay, who),
            Step(Verb.Pay, Other(who)), Step(Verb.Wait, 0, pause), Break(Default, back), Step(Verb.Wait, 0, wait),
            .. Recover(who), Step(Verb.Pay, who), Step(Verb.Wait, 0, pause),
        ];

    // The payments of an instance that ends are adopted, while something happens to the adopter.
    private static Gen<Step[]> Adopted() =>
        from who in Instance
        from ended in Gen.Elements(Verb.Kill, Verb.Kill, Verb.Freeze, Verb.Stop)
        from fault in Gen.OneOf(Gen.Constant(Fault.Fails), Doubtful)
        from late in Late
        from pause in Short
        from moment in AdopterMoments
        from seconds in Gen.Elements(0.4, 2, 8, 14, 14)
        from noticed in Gen.Elements(4.2, 5.5, 8)
        from frozen in Gen.SubListOf(Step(Verb.Freeze, Other(who)))
        from back in Gen.Elements(Fault.None, Fault.Fails)
        from wait in Long
        select (Step[])
        [
            Step(Verb.Wait, 0, 2.6), Break(Default, fault, late), Step(Verb.Pay, who), Step(Verb.Wait, 0, pause),
            Step(ended, who), new Step(Verb.Arm, Other(who), seconds, default, moment.Point, moment.Verb),
            Step(Verb.Wait, 0, noticed), .. frozen, .. Recover(who), Break(Default, back), Step(Verb.Wait, 0, wait),
            .. Recover(Other(who)), Step(Verb.Pay, who), Step(Verb.Wait, 0, pause),
        ];

    // A statement arrives when its instance does not wait for it any more, or has ended.
    private static Gen<Step[]> Delayed() =>
        from who in Instance
        from point in Gen.Elements(Point.Inserts, Point.Inserts, Point.Inserts, Point.Records, Point.Renews)
        from seconds in Gen.Elements(4.2, 8, 8, 14)
        from fault in Gen.Elements(Fault.None, Fault.None, Fault.Fails, Fault.Slow)
        from wait in Long
        from disturbing in Gen.Frequency((2, Gen.Constant(Verb.Wait)), (1, Disturbing))
        select (Step[])
        [
            Step(Verb.Wait, 0, 2.6), Break(Default, fault, 1),
            new Step(Verb.Arm, who, seconds, default, point, Verb.Delay), Step(Verb.Pay, who), Step(Verb.Wait, 0, 0.8),
            Step(disturbing, who, 0.8), Step(Verb.Wait, 0, wait), .. Recover(who), Step(Verb.Pay, who),
            Step(Verb.Wait, 0, wait),
        ];

    // A payment is stored without an answer where nobody can look it up until its horizon is over.
    private static Gen<Step[]> Silenced() =>
        from at in At
        from who in Instance
        from fault in Doubtful
        from late in Late
        from seconds in Gen.Elements(8.0, 19, 24)
        from wait in Gen.Elements(4.2, 17, 19)
        from after in Gen.Elements(Fault.None, Fault.Fails, Fault.Fails)
        select (Step[])
        [
            Step(Verb.Silence, at, seconds), Break(at, fault, late), Step(Verb.Pay, who), Step(Verb.Wait, 0, 0.1),
            Break(at, after), Step(Verb.Wait, 0, wait),
        ];

    // A clock jumps, or is wrong for a while.
    private static Gen<Step[]> Clocks() =>
        from who in Instance
        from verb in Gen.Elements(Verb.Skew, Verb.Skew, Verb.Jump)
        from seconds in Gen.Elements(-300.0, -8.0, -2, 2, 5, 12, 300, 300, 300)
        from wait in Any
        from fault in Gen.Elements(Fault.None, Fault.Fails, Fault.Fails)
        from back in Gen.Elements(0, verb == Verb.Jump ? -seconds : 0)
        select (Step[])
        [
            Break(Default, fault), Step(verb, who, seconds), Step(Verb.Pay, who), Step(Verb.Wait, 0, wait),
            Step(verb, who, back), Step(Verb.Pay, Other(who)),
        ];

    // A payment is refused for good, stored or not, and replayed where the processor takes it, or still refuses it.
    private static Gen<Step[]> Parked() =>
        from who in Instance
        from refusal in Gen.Elements(Fault.Rejects, Fault.Misleads)
        from at in Gen.Elements(Fault.None, Fault.None, Fault.Fails)
        from after in Gen.OneOf(Gen.Elements(Fault.None, Fault.Fails, Fault.Fails, Fault.Rejects), Doubtful)
        from late in Late
        from pause in Any
        from wait in Long
        select (Step[])
        [
            Break(Default, refusal), Step(Verb.Pay, who), Step(Verb.Wait, 0, pause),
            Break(Default, after, late), Break(Fallback, at), Step(Verb.Replay, who), Step(Verb.Replay, Other(who)),
            Step(Verb.Wait, 0, wait), Break(Fallback, Fault.None), Break(Default, Fault.None), Step(Verb.Repeat, who),
        ];

    // The ledger loses an outcome, or lacks one that is in doubt for long, and a reconciliation enters it.
    private static Gen<Step[]> Reconciled() =>
        from who in Instance
        from first in Gen.Elements(
            Step(Verb.Lose), Step(Verb.Silence, Default, 40),
            new Step(Verb.Arm, who, 2, default, Point.Stored, Verb.Freeze))
        from wait in Gen.Elements(29.0, 33)
        from pause in Any
        select (Step[])
        [
            first, Break(Default, first.Verb == Verb.Silence ? Fault.Breaks : Fault.None), Step(Verb.Pay, who),
            Step(Verb.Wait, 0, 0.4), Break(Default, Fault.None), Step(Verb.Wait, 0, wait),
            Step(Verb.Reconcile, Other(who)), Step(Verb.Wait, 0, pause), .. Recover(who), Step(Verb.Wait, 0, pause),
        ];

    // PostgreSQL crashes while payments wait; perhaps an instance freezes just before it would notice.
    private static Gen<Step[]> Crashed() =>
        from who in Instance
        from fault in Gen.OneOf(Gen.Elements(Fault.None, Fault.Fails, Fault.Fails), Doubtful)
        from late in Late
        from pause in Short
        from frozen in Gen.SubListOf(new Step(Verb.Arm, who, 0, default, Point.Renewed, Verb.Freeze))
        from wait in Long
        from back in Gen.Elements(Fault.None, Fault.Fails)
        select (Step[])
        [
            Break(Default, fault, late), Step(Verb.Pay, who), Step(Verb.Pay, Other(who)), Step(Verb.Wait, 0, pause),
            Step(Verb.Crash), .. frozen, Break(Default, back), Step(Verb.Wait, 0, wait), .. Recover(who),
            Step(Verb.Pay, who), Step(Verb.Wait, 0, pause),
        ];

    // Old settled payments leave, while others are in doubt.
    private static Gen<Step[]> Aged() =>
        from who in Instance
        from fault in Gen.OneOf(Gen.Constant(Fault.None), Doubtful)
        from late in Late
        from wait in Long
        select (Step[])
        [
            Step(Verb.Pay, who), Step(Verb.Wait, 0, 1.1), Break(Default, fault, late), Step(Verb.Pay, who),
            Step(Verb.Wait, 0, 0.1), Step(Verb.Age), Break(Default, Fault.None), Step(Verb.Pay, who),
            Step(Verb.Wait, 0, wait), Step(Verb.Summarise, who),
        ];
}
