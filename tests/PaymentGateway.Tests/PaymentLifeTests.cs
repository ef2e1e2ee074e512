namespace PaymentGateway.Tests;

/// <summary>The states of a payment's life, each with each event (the head of Payment has the drawing).</summary>
public sealed class PaymentLifeTests
{
    private static readonly DateTime Now = Batches.Noon;

    // The ways into a state by transitions alone: no test sets a member.
    private static readonly (string State, Action<Payment> Enter)[] States =
    [
        ("waiting", _ => { }),
        ("waiting, refused", payment => Charged(payment, ChargeResult.Refused)),
        ("waiting, adopted at default", payment => payment.Adopt(Known.AtDefault, 1)),
        ("charging", payment => payment.Charge(Known.Default, Now)),
        ("repeating", payment =>
        {
            payment.Adopt(Known.AtDefault, 1);
            payment.Charge(Known.Default, Now);
        }),
        ("in doubt", payment => Charged(payment, ChargeResult.Unclear)),
        ("in doubt at both", payment => payment.Adopt(Known.AtBoth, 1)),
        ("held", payment => Charged(payment, ChargeResult.AlreadyStored)),
        ("rejected", payment =>
        {
            Charged(payment, ChargeResult.Unclear);
            Charged(payment, ChargeResult.Rejected);
        }),
        ("settled", payment => Charged(payment, ChargeResult.Settled)),
        ("parked", payment => Charged(payment, ChargeResult.Rejected)),
    ];

    private static readonly (string Event, Func<Payment, NextStep?> Do)[] Events =
    [
        ("adopt at default", payment => payment.Adopt(Known.AtDefault, 1)),
        ("inherit", payment => payment.Inherit(2)),
        ("doubt", payment => payment.Doubt()),
        ("charge default", payment =>
        {
            payment.Charge(Known.Default, Now);
            return null;
        }),
        ("charge fallback", payment =>
        {
            payment.Charge(Known.Fallback, Now);
            return null;
        }),
        ("200", payment => payment.Answer(Known.Default, ChargeResult.Settled, 2)),
        ("422", payment => payment.Answer(Known.Default, ChargeResult.AlreadyStored, 2)),
        ("refused", payment => payment.Answer(Known.Default, ChargeResult.Refused, 2)),
        ("400", payment => payment.Answer(Known.Default, ChargeResult.Rejected, 2)),
        ("no answer", payment => payment.Answer(Known.Default, ChargeResult.Unclear, 2)),
        ("absent at default", payment => payment.Absent(Known.Default)),
        ("found at default", payment => payment.Find(Known.Default)),
        ("operator's word", payment => payment.Overrule(Known.AtDefault)),
        ("reject", payment => payment.Reject()),
    ];

    // A row is a state, a column an event: what follows, or nothing where the transition breaks the payment.
    private static readonly Dictionary<string, string> Allowed = new()
    {
        ["waiting"] = "adopt at default: WaitBehind; inherit: WaitBehind; charge default: -; charge fallback: -",
        ["waiting, refused"] = "inherit: WaitBehind; charge default: -; charge fallback: -",
        ["waiting, adopted at default"] = "adopt at default: WaitBehind; inherit: WaitBehind; doubt: Resolve; "
            + "charge default: -",
        ["charging"] = "200: Record; 422: Resolve; refused: WaitBehind; 400: Park; no answer: Resolve",
        ["repeating"] = "200: Record; 422: Resolve; refused: Resolve; 400: Resolve; no answer: Resolve",
        ["in doubt"] = "inherit: Resolve; charge default: -; absent at default: WaitBehind; "
            + "found at default: Record; operator's word: WaitBehind",
        ["in doubt at both"] = "inherit: Resolve; absent at default: Resolve; found at default: Record; "
            + "operator's word: Resolve",
        ["held"] = "inherit: Resolve; found at default: Record; operator's word: WaitBehind",
        ["rejected"] = "inherit: Resolve; absent at default: WaitBehind; found at default: Record; "
            + "operator's word: WaitBehind; reject: Park",
        ["settled"] = "",
        ["parked"] = "",
    };

    [Fact]
    public void Each_state_takes_exactly_the_events_of_the_table_and_any_other_breaks_the_payment()
    {
        foreach (var (state, enter) in States)
            Assert.Equal($"{state}: {Allowed[state]}", $"{state}: {string.Join("; ", TakenIn(enter))}");
    }

    [Fact]
    public void A_broken_payment_takes_no_event_and_says_what_happened()
    {
        var payment = Batches.NewPayment();
        Charged(payment, ChargeResult.Settled);

        var broken = Assert.Throws<BrokenLifeException>(() => payment.Charge(Known.Default, Now));

        Assert.Same(payment, broken.Payment);
        Assert.StartsWith("Charge in phase Settled, may be at ", broken.Message, StringComparison.Ordinal);
        Assert.Equal(PaymentPhase.Broken, payment.Phase);
        Assert.All(Events, one => Assert.Throws<BrokenLifeException>(() => one.Do(payment)));
    }

    [Fact]
    public void A_repeat_in_doubt_keeps_the_time_of_its_first_charge_and_a_charge_after_a_refusal_has_a_new_one()
    {
        var payment = Batches.NewPayment();
        Charged(payment, ChargeResult.Refused);
        Charged(payment, ChargeResult.Unclear, Now.AddSeconds(1));
        Charged(payment, ChargeResult.Unclear, Now.AddSeconds(2));

        Assert.Equal(Now.AddSeconds(1), payment.RequestedAt);
    }

    [Fact]
    public void Of_two_stages_that_charge_a_payment_at_once_one_alone_begins()
    {
        var payments = Enumerable.Range(0, 1_000).Select(_ => Batches.NewPayment()).ToList();
        var begun = 0;
        using var together = new Barrier(2);

        Parallel.Invoke(ChargeAll, ChargeAll);

        Assert.Equal(payments.Count, begun);
        Assert.All(payments, payment => Assert.Equal(PaymentPhase.Broken, payment.Phase));

        void ChargeAll()
        {
            foreach (var payment in payments)
            {
                together.SignalAndWait();
                try
                {
                    payment.Charge(Known.Default, Now);
                    Interlocked.Increment(ref begun);
                }
                catch (BrokenLifeException)
                {
                    // The other stage has it.
                }
            }
        }
    }

    private static IEnumerable<string> TakenIn(Action<Payment> enter)
    {
        foreach (var (what, take) in Events)
        {
            var payment = Batches.NewPayment();
            enter(payment);
            string next;
            try
            {
                next = take(payment)?.ToString() ?? "-";
            }
            catch (BrokenLifeException)
            {
                continue;
            }

            yield return $"{what}: {next}";
        }
    }

    private static void Charged(Payment payment, ChargeResult result, DateTime? at = null)
    {
        payment.Charge(Known.Default, at ?? Now);
        payment.Answer(Known.Default, result, 1);
    }
}
