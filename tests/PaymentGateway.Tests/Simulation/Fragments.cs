using FsCheck.Fluent;
using static PaymentGateway.Tests.Simulation.StatementNames;

namespace PaymentGateway.Tests.Simulation;

/// <summary>Steps that are dangerous together.</summary>
internal static class Fragments
{
    private const int Default = 1;
    private const int Fallback = 2;
    private const int Third = 3; // Fallback where there are two.

    // Around the lease of 3 s, renewals of 1 s, the fallback delay and the call timeout of 10 s, the horizon of 15 s.
    private static readonly Gen<double> Short = Gen.Elements(0.0, 0.02, 0.1, 0.4, 0.8, 1.1);
    private static readonly Gen<double> Long = Gen.Elements(2.6, 3.3, 4.2, 4.2, 5.5, 8, 11, 14, 19, 24);
    private static readonly Gen<double> Any = Gen.OneOf(Short, Long);
    private static readonly Gen<double> Late = Gen.Elements(0.3, 1.5, 2.9, 4, 6, 9, 11, 13, 14.4);
    public static readonly Gen<int> Instance = Gen.Elements(0, 0, 0, 0, 1, 1, 2);
    private static readonly Gen<int> At = Gen.Elements(Default, Default, Fallback, Third);
    private static readonly Gen<Fault> Doubtful =
        Gen.Elements(Fault.Breaks, Fault.Breaks, Fault.Hangs, Fault.Slow, Fault.Drops, Fault.Errs);

    // A processor is not to be had, and has nothing of what it was sent.
    private static readonly Gen<Fault> Away = Gen.Elements<Fault>(
    [
        Fault.Fails, Fault.Refuses, Fault.Throttles, Fault.Swallows, Fault.FailsLate,
    ]);

    private static readonly Gen<Fault> Veils = Gen.Elements<Fault>(
    [
        Fault.Breaks, Fault.Breaks, Fault.Slow, Fault.Hangs, Fault.Fails, Fault.Throttles,
        Fault.Foreign, Fault.Bare,
    ]);

    private static readonly Gen<Verb> Disturbing =
        Gen.Elements(Verb.Kill, Verb.Kill, Verb.Freeze, Verb.Freeze, Verb.Stop, Verb.Cut, Verb.Purge, Verb.Stall);

    // Moments that are wrong for it.
    private static readonly Gen<(string Moment, Verb Verb)> Moments = Gen.Elements(
        ("Connects", Verb.Freeze), ("Connects", Verb.Freeze), ("Connects", Verb.Freeze), ("Connects", Verb.Freeze),
        ("Connects", Verb.Purge), ("Sent", Verb.Purge), ("Sent", Verb.Kill), ("Sent", Verb.Kill),
        ("Sent", Verb.Freeze), ("Sent", Verb.Purge), ("Sent", Verb.Stop), ("Stored", Verb.Kill),
        ("Stored", Verb.Freeze), ("Stored", Verb.Purge), (Insert, Verb.Hold), (Insert, Verb.Hold),
        (Insert, Verb.Kill), (Insert, Verb.Cut), (Insert, Verb.Delay), (Insert, Verb.Delay), (Write, Verb.Delay),
        (Renew, Verb.Delay), (Inserted, Verb.Kill), (Inserted, Verb.Cut), (Inserted, Verb.Purge),
        (Inserted, Verb.Freeze), (Write, Verb.Kill), (Write, Verb.Freeze), (Write, Verb.Purge),
        (Written, Verb.Kill), (Written, Verb.Cut), (Renew, Verb.Freeze), (Renew, Verb.Cut), (Renewed, Verb.Cut),
        (Renewed, Verb.Freeze), (Adopt, Verb.Kill), (Adopt, Verb.Freeze), (Adopted, Verb.Kill), (Adopted, Verb.Cut));

    private static readonly Gen<(string Moment, Verb Verb)> AdopterMoments = Gen.Elements(
        (Adopt, Verb.Delay), (Adopt, Verb.Delay), (Adopt, Verb.Delay), (Adopt, Verb.Kill), (Adopt, Verb.Purge),
        (Adopt, Verb.Cut), (Adopted, Verb.Cut), (Adopted, Verb.Cut), (Adopted, Verb.Kill), (Adopted, Verb.Freeze),
        (Adopted, Verb.Purge));

    public static Gen<Step[]> All => Gen.Frequency(
    [
        (3, Requests()), (4, LateStore()), (6, FallbackInUse()), (4, DoubtInOutage()), (4, Frozen()), (6, Disturbed()),
        (3, Silenced()), (3, Clocks()), (3, Parked()), (1, Reconciled()), (1, Aged()), (3, Crashed()), (5, Adoption()),
        (2, Delayed()), (3, OneAMinute()), (2, OneASecond()), (4, Burst()), (4, OneSided()), (8, AtAStatement()),
        (4, Told()),
    ]);

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
        from armed in Gen.SubListOf(new Step(Verb.Arm, who, 2, default, "UsesFallback", disturbing))
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
            Break(Default, fault, late), new Step(Verb.Arm, who, seconds, default, moment.Moment, moment.Verb),
            Step(Verb.Pay, who),
            Step(Verb.Pay, Other(who)), Step(Verb.Wait, 0, pause), Break(Default, back), Step(Verb.Wait, 0, wait),
            .. Recover(who), Step(Verb.Pay, who), Step(Verb.Wait, 0, pause),
        ];

    // The payments of an instance that ends are adopted, while something happens to the adopter.
    private static Gen<Step[]> Adoption() =>
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
            Step(ended, who), new Step(Verb.Arm, Other(who), seconds, default, moment.Moment, moment.Verb),
            Step(Verb.Wait, 0, noticed), .. frozen, .. Recover(who), Break(Default, back), Step(Verb.Wait, 0, wait),
            .. Recover(Other(who)), Step(Verb.Pay, who), Step(Verb.Wait, 0, pause),
        ];

    // A statement arrives when its instance does not wait for it any more, or has ended.
    private static Gen<Step[]> Delayed() =>
        from who in Instance
        from moment in Gen.Elements(Insert, Insert, InsertOne, Write, Renew)
        from seconds in Gen.Elements(4.2, 8, 8, 14)
        from fault in Gen.Elements(Fault.None, Fault.None, Fault.Fails, Fault.Slow)
        from wait in Long
        from disturbing in Gen.Frequency((2, Gen.Constant(Verb.Wait)), (1, Disturbing))
        select (Step[])
        [
            Step(Verb.Wait, 0, 2.6), Break(Default, fault, 1),
            new Step(Verb.Arm, who, seconds, default, moment, Verb.Delay), Step(Verb.Pay, who), Step(Verb.Wait, 0, 0.8),
            Step(disturbing, who, 0.8), Step(Verb.Wait, 0, wait), .. Recover(who), Step(Verb.Pay, who),
            Step(Verb.Wait, 0, wait),
        ];

    // A payment is stored without an answer where nobody can look it up, or finds it, until its horizon is over.
    private static Gen<Step[]> Silenced() =>
        from at in At
        from who in Instance
        from fault in Doubtful
        from late in Late
        from veil in Veils
        from seconds in Gen.Elements(8.0, 19, 24)
        from wait in Gen.Elements(4.2, 17, 19)
        from after in Gen.Elements(Fault.None, Fault.Fails, Fault.Fails)
        select (Step[])
        [
            new Step(Verb.Veil, at, seconds, veil), Break(at, fault, late), Step(Verb.Pay, who),
            Step(Verb.Wait, 0, 0.1), Break(at, after), Step(Verb.Wait, 0, wait),
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
            Step(Verb.Lose), new Step(Verb.Veil, Default, 40, Fault.Breaks),
            new Step(Verb.Arm, who, 2, default, "Stored", Verb.Freeze))
        from wait in Gen.Elements(29.0, 33)
        from pause in Any
        select (Step[])
        [
            first, Break(Default, first.Verb == Verb.Veil ? Fault.Breaks : Fault.None), Step(Verb.Pay, who),
            Step(Verb.Wait, 0, 0.4), Break(Default, Fault.None), Step(Verb.Wait, 0, wait),
            Step(Verb.Reconcile, Other(who)), Step(Verb.Wait, 0, pause), .. Recover(who), Step(Verb.Wait, 0, pause),
        ];

    // PostgreSQL crashes while payments wait; perhaps an instance freezes just before it would notice.
    private static Gen<Step[]> Crashed() =>
        from who in Instance
        from fault in Gen.OneOf(Gen.Elements(Fault.None, Fault.Fails, Fault.Fails), Doubtful)
        from late in Late
        from pause in Short
        from frozen in Gen.SubListOf(new Step(Verb.Arm, who, 0, default, Renewed, Verb.Freeze))
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

    // One payment a minute, while a processor is away in one of the ways that there are.
    private static Gen<Step[]> OneAMinute() =>
        from who in Instance
        from at in At
        from fault in Gen.OneOf(Away, Doubtful)
        from late in Gen.Elements(1.5, 2.5, 2.5, 9)
        from count in Gen.Choose(1, 2)
        select (Step[])
        [
            Break(at, fault, late),
            .. Enumerable.Repeat<Step[]>([Step(Verb.Pay, who), Step(Verb.Wait, 0, 60)], count).SelectMany(one => one),
            Break(at, Fault.None),
        ];

    private static Gen<Step[]> OneASecond() =>
        from at in At
        from fault in Gen.OneOf(Away, Doubtful)
        from late in Late
        from count in Gen.Choose(5, 20)
        from disturbing in Disturbing
        select (Step[])
        [
            Break(at, fault, late),
            .. Enumerable.Range(0, count).SelectMany(one => (Step[])[Step(Verb.Pay, one), Step(Verb.Wait, 0, 1.1)]),
            Step(disturbing, 1, 0.8), Step(Verb.Pay, 0), Step(Verb.Wait, 0, 4.2), .. Recover(1),
        ];

    private static Gen<Step[]> Burst() =>
        from who in Instance
        from at in At
        from fault in Gen.OneOf(Gen.Constant(Fault.None), Away, Doubtful)
        from late in Late
        from count in Gen.Choose(8, 25)
        from pause in Short
        from disturbing in Gen.Frequency((3, Disturbing), (1, Gen.Constant(Verb.Crash)), (2, Gen.Constant(Verb.Wait)))
        from wait in Long
        select (Step[])
        [
            Break(at, fault, late), .. Enumerable.Range(0, count).Select(one => Step(Verb.Pay, one % 3 == 0 ? 1 : who)),
            Step(Verb.Wait, 0, pause), Step(disturbing, who, 0.8), Step(Verb.Wait, 0, wait), .. Recover(who),
            Break(at, Fault.None), Step(Verb.Wait, 0, pause),
        ];

    // A processor is away for one instance alone, or answers its health calls wrongly.
    private static Gen<Step[]> OneSided() =>
        from who in Gen.Choose(0, 1)
        from at in At
        from fault in Gen.OneOf(Away, Doubtful)
        from late in Late
        from lie in Gen.Elements(
            Fault.None, Fault.Misleads, Fault.Misleads, Fault.Fails, Fault.Hangs, Fault.Slow, Fault.Throttles)
        from pause in Any
        from wait in Long
        select (Step[])
        [
            new Step(Verb.Lie, at, 19, lie), Break(at + (10 * (who + 1)), fault, late), Step(Verb.Pay, who),
            Step(Verb.Pay, Other(who)), Step(Verb.Wait, 0, pause), Step(Verb.Pay, who), Step(Verb.Wait, 0, wait),
            Break(at, Fault.None), Step(Verb.Pay, who), Step(Verb.Pay, Other(who)),
        ];

    // A repeat is answered with 422, and then look-ups do not find what is stored.
    private static Gen<Step[]> Told() =>
        from at in At
        from who in Instance
        from fault in Gen.Elements(Fault.Breaks, Fault.Breaks, Fault.Hangs, Fault.Errs)
        from after in Gen.Elements(Fault.None, Fault.Fails, Fault.Fails, Fault.Refuses)
        from disturbing in Gen.Frequency((1, Disturbing), (2, Gen.Constant(Verb.Wait)))
        from wait in Gen.Elements(14.0, 17, 19, 24)
        select (Step[])
        [
            new Step(Verb.Veil, at, 40, Fault.Forgets), Break(at, fault, 0.02), Step(Verb.Pay, who),
            Step(Verb.Wait, 0, 0.1), Break(at, Fault.None), Step(Verb.Wait, 0, 4.2), Break(at, after),
            Step(disturbing, who, 0.8), Step(Verb.Wait, 0, wait), .. Recover(who), Step(Verb.Wait, 0, 8),
        ];

    // Something happens around any statement.
    private static Gen<Step[]> AtAStatement() =>
        from who in Instance
        from name in Gen.Elements<string>([.. StatementNames.All])
        from moment in Gen.Elements(name, name, name + "+")
        from verb in Gen.Elements(Verb.Kill, Verb.Freeze, Verb.Cut, Verb.Delay, Verb.Stall, Verb.Crash)
        from seconds in Gen.Elements(0.5, 2, 4.2, 8)
        from fault in Gen.OneOf(Gen.Elements(Fault.None, Fault.Fails, Fault.Rejects), Doubtful)
        from late in Late
        from disturbing in Disturbing
        from wait in Long
        select (Step[])
        [
            Break(Default, fault, late), new Step(Verb.Arm, who, seconds, default, moment, verb),
            Step(Verb.Pay, who), Step(Verb.Pay, Other(who)), Step(Verb.Pay, who), Step(Verb.Wait, 0, 1.1),
            Step(disturbing, Other(who), 0.8), Step(Verb.Wait, 0, 5.5), Break(Default, Fault.None),
            Step(Verb.Wait, 0, wait), .. Recover(who), .. Recover(Other(who)), Step(Verb.Pay, who),
        ];
}
