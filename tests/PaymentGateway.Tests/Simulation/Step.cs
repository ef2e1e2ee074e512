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
    Veil, // Look-ups at a processor have a fault, for so many seconds.
    Lie, // Health calls do.
    Arm, // Does a verb when the instance reaches a moment: a place in a charge, a statement, or with + its answer.
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

/// <summary>A step of a schedule.</summary>
/// <param name="Who">
/// An instance from 0; or a processor from 1 for all instances, and 10 more for the first one alone, 20 for the second.
/// </param>
internal sealed record Step(
    Verb Verb, int Who = 0, double Seconds = 0, Fault Fault = default, string Moment = "", Verb Armed = default)
{
    public static Step Parse(string text)
    {
        var words = text.Split(' ');
        var step = new Step(
            Enum.Parse<Verb>(words[0]), int.Parse(words[1], CultureInfo.InvariantCulture),
            double.Parse(words[2], CultureInfo.InvariantCulture));
        return step.Verb switch
        {
            Verb.Break or Verb.Veil or Verb.Lie => step with { Fault = Enum.Parse<Fault>(words[3]) },
            Verb.Arm => step with { Moment = words[3], Armed = Enum.Parse<Verb>(words[4]) },
            _ => step,
        };
    }

    public override string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{Verb} {Who} {Seconds}{Verb switch
        {
            Verb.Break or Verb.Veil or Verb.Lie => $" {Fault}",
            Verb.Arm => $" {Moment} {Armed}",
            _ => "",
        }}");
}
