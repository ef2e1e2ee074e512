using System.Reflection;

namespace PaymentGateway.Tests.Storage;

/// <summary>The states of a row: as they come about, and that no row can be stored in another one.</summary>
public sealed class PaymentStatesTests(TestDatabase database) : IClassFixture<TestDatabase>
{
    private const string Payment = "INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch";
    private const string Values = "VALUES (gen_random_uuid(), 1990, now()";
    private const string Stored = $"{Payment}) {Values}, 1); UPDATE payments SET ";
    private const string Lease = "INSERT INTO leases (instance, processors, expires_at, used_processors";
    private const string Event =
        "INSERT INTO payment_events (recorded_by, correlation_id, amount_cents, accepted_at, kind";
    private const string OfEvent = "VALUES ('1', gen_random_uuid(), 1990, now()";

    // Each has the constraint that refuses it.
    private static readonly (string Constraint, string Row)[] Impossible =
    [
        ("possible_state", $"{Stored}owner_epoch = 0"),
        ("possible_state", $"{Stored}owner_epoch = -1, parked_at = now(), parked_reason = 'tests'"),
        ("possible_state", $"{Stored}owner_epoch = -1, may_be_at = 0"),
        ("possible_state", $"{Stored}owner_epoch = -1, may_be_at = 0, parked_at = now()"),
        ("possible_state", $"{Stored}owner_epoch = -1, may_be_at = 0, parked_reason = 'tests'"),
        ("possible_state", $"{Stored}parked_at = now()"),
        ("possible_state", $"{Stored}owner_epoch = 0, may_be_at = 0, parked_reason = 'tests'"),
        ("possible_state", $"{Stored}held_by = 0"),
        ("possible_state", $"{Stored}held_by = 15"),
        ("adopted_after_its_close", $"{Lease}, adopted_at) VALUES ('tests', '', now(), 2, now())"),
        ("all_but_epoch_0_may_charge", $"{Lease}) VALUES ('tests', '', now(), 0)"),
        ("all_but_epoch_0_may_charge", "UPDATE leases SET used_processors = 2 WHERE epoch = 0"),
        ("epoch_0_is_closed", "UPDATE leases SET closed_at = NULL WHERE epoch = 0"),
        ("epoch_0_is_closed", "UPDATE leases SET adopted_at = now() WHERE epoch = 0"),
        (
            "charged_by_a_processor",
            "INSERT INTO settlements (correlation_id, amount_cents, accepted_at, requested_at, processor) "
            + $"{Values}, now(), 0)"),
        (
            "width_is_a_bucket",
            "INSERT INTO settlement_totals (width_seconds, bucket, processor, epoch, requests, amount_cents) "
            + "VALUES (60, now(), 1, 1, 1, 1)"),
        ("content_of_its_kind", $"{Event}) {OfEvent}, 'parked')"),
        ("content_of_its_kind", $"{Event}, reason) {OfEvent}, 'replayed', 'tests')"),
        ("content_of_its_kind", $"{Event}, processor) {OfEvent}, 'settled', 1)"),
        ("content_of_its_kind", $"{Event}, requested_at) {OfEvent}, 'corrected', now())"),
        ("content_of_its_kind", $"{Event}) {OfEvent}, 'lost')"),
        ("failing_if_and_only_if_failure_and_time", "INSERT INTO webhooks (name, failures) VALUES ('tests', 1)"),
        ("failing_if_and_only_if_failure_and_time", "INSERT INTO webhooks (name, failure) VALUES ('tests', 'tests')"),
        ("id_has_a_bit", "INSERT INTO processors (id, name) VALUES (15, 'tests')"),
        ("one_row", "INSERT INTO ledger (id, server) VALUES (2, 1)"),
        ("one_row", "INSERT INTO ledger_intact (id) VALUES (2)"),
    ];

    [Fact]
    public void Each_owner_is_in_statements_as_it_is_in_code()
    {
        var inStatements = ValuesOf(typeof(Owners.Sql));

        Assert.NotEmpty(inStatements);
        Assert.Equal(ValuesOf(typeof(Owners)), inStatements);
    }

    [PostgresFact]
    public async Task A_payment_is_accepted_adopted_released_and_parked()
    {
        var (owner, adopter) = (await database.OpenEpochAsync(), await database.OpenEpochAsync());
        var id = (await database.StoreAsync(owner, 1)).Ids[0];
        await IsAsync("accepted");

        await database.Leases.CloseAsync(owner);
        await database.Adoptions.AdoptAsync(new AdoptArgs(owner, adopter, Batches.Earliest, 100));
        await IsAsync("adopted");
        await database.Leases.ReleaseAsync(new ReleaseArgs(adopter, Batches.Earliest, []));
        await IsAsync("released");
        await database.ParkAsync($"correlation_id = '{id}'");
        await IsAsync("parked");

        async Task IsAsync(string state) => Assert.Equal(state, await database.ScalarAsync<string>(
            $"SELECT payment_state(owner_epoch, may_be_at) FROM payments WHERE correlation_id = '{id}'"));
    }

    [PostgresFact]
    public async Task An_impossible_row_cannot_be_stored()
    {
        foreach (var (constraint, row) in Impossible)
        {
            var refused = await Assert.ThrowsAsync<PostgresException>(() => database.ExecuteAsync(row));
            Assert.Equal(
                (PostgresErrorCodes.CheckViolation, constraint, row),
                (refused.SqlState, refused.ConstraintName, row));
        }
    }

    [PostgresFact]
    public async Task Each_constraint_has_a_row_that_it_refuses() => Assert.Equal(
        Impossible.Select(one => one.Constraint).Distinct().Order(),
        (await database.ScalarAsync<string[]>("""
            SELECT array_agg(DISTINCT conname) FROM
                (SELECT conname FROM pg_constraint
                 WHERE contype = 'c' AND connamespace = current_schema()::regnamespace
                 UNION ALL SELECT tgname FROM pg_trigger WHERE tgrelid = 'payments'::regclass
                   AND NOT tgisinternal) AS refusing
            """)).Order());

    private static Dictionary<string, string?> ValuesOf(Type states) =>
        states.GetFields(BindingFlags.Public | BindingFlags.Static).ToDictionary(
            field => field.Name, field => Convert.ToString(field.GetRawConstantValue(), CultureInfo.InvariantCulture));
}
