-- The ledger. CREATE UNLOGGED TABLE is CREATE TABLE in the durable profile; tables without the word are logged in both,
-- because a crash of the database must not empty them. Every statement locks payments, settlements, settlement_totals
-- and payment_events in this order. Rules for the statements: docs/decisions, 0009, 0014, 0017 and 0023.

-- The permanent number of each name of a processor. At most 14, because a set of them is a smallint: bit n is for id n.
-- not_charged: how often an operator has said that the processor has not charged the payments in doubt there.
CREATE TABLE processors (
    id          smallint PRIMARY KEY,
    name        text NOT NULL UNIQUE,
    not_charged integer NOT NULL DEFAULT 0,
    CONSTRAINT id_has_a_bit CHECK (id BETWEEN 1 AND 14)
);

INSERT INTO processors (id, name) VALUES (1, 'default'), (2, 'fallback');

-- The permanent number of each name of a payer (Gateway__Admin__Tokens). No identity, because Citus has none of a table
-- that it copies to its workers.
CREATE TABLE payers (
    id   integer PRIMARY KEY,
    name text NOT NULL UNIQUE
);

-- The processors' health by name, polled by one instance for all of them.
CREATE TABLE processor_health (
    processor       text PRIMARY KEY,
    failing         boolean NOT NULL DEFAULT false,
    min_response_ms integer NOT NULL DEFAULT 0,
    polled_at       timestamptz NOT NULL DEFAULT '-infinity',
    observed_at     timestamptz NOT NULL DEFAULT '-infinity'
);

INSERT INTO processor_health (processor) VALUES ('default'), ('fallback');

-- The epochs: each is the time of an instance from its start, or from the end of its epoch before, to its end. Its
-- number owns payments. Epoch 0 is closed from the beginning: it owns what a clean stop or an operator has released to
-- any adopter.
-- processors: the name and base URL of each, which instances of one ledger share.
-- used_processors: the set at which the epoch may charge; a processor stays in it for good.
-- low_water_mark: everything older that the epoch took is settled, parked or another's, so adopters search from here.
-- renewal: the number of the last renewal or adoption; one that comes late must not undo a newer one.
-- closed_at: set by another instance after its lease expired, by its own instance, or by `restored`. It stays closed,
-- and can neither renew nor accept.
-- adopted_at: it owns nothing unsettled any more.
CREATE TABLE leases (
    epoch           integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    instance        text NOT NULL,
    processors      text NOT NULL,
    used_processors smallint NOT NULL,
    expires_at      timestamptz NOT NULL,
    low_water_mark  timestamptz NOT NULL DEFAULT '-infinity',
    renewal         bigint NOT NULL DEFAULT 0,
    closed_at       timestamptz,
    adopted_at      timestamptz,
    CONSTRAINT adopted_after_its_close CHECK (adopted_at IS NULL OR closed_at IS NOT NULL),
    CONSTRAINT all_but_epoch_0_may_charge CHECK ((used_processors > 0) = (epoch > 0)),
    CONSTRAINT epoch_0_is_closed CHECK (epoch > 0 OR closed_at IS NOT NULL AND adopted_at IS NULL)
);

INSERT INTO leases (epoch, instance, processors, used_processors, expires_at, closed_at) OVERRIDING SYSTEM VALUE
VALUES (0, 'nobody', '', 0, '-infinity', '-infinity');

-- The epochs that may store payments, apart from their leases: an INSERT of payments reads its epoch's row, and a
-- renewal rewrites the lease each second. While a dump, a report or a replication slot holds a snapshot, PostgreSQL
-- keeps every version of a row, and each reader passes all of them by.
CREATE TABLE open_epochs (epoch integer PRIMARY KEY);

-- A trigger, so that no statement closes an epoch and forgets the other table. OLD is null where a lease begins, NEW
-- where one is deleted.
CREATE OR REPLACE FUNCTION follow_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.epoch IS NOT NULL AND NEW.closed_at IS NULL THEN
        INSERT INTO open_epochs (epoch) VALUES (NEW.epoch) ON CONFLICT DO NOTHING;
    ELSE
        DELETE FROM open_epochs WHERE epoch = OLD.epoch;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER open_epochs_follow AFTER INSERT OR UPDATE OF closed_at OR DELETE ON leases
    FOR EACH ROW EXECUTE FUNCTION follow_lease();

-- What each instance says once a second, as JSON that only the page /ops reads; no decision does.
CREATE UNLOGGED TABLE instance_readings (
    epoch   integer PRIMARY KEY,
    reading text NOT NULL,
    read_at timestamptz NOT NULL
);

-- Every acceptance, for good: the key makes acceptance idempotent at any instance. payment_state names the states of a
-- row; it is settled, whatever its state, as soon as settlements has it.
-- owner_epoch: the epoch of the instance that settles it; 0 while it is released to any adopter, -1 while it is parked.
-- may_be_at: the processors at which earlier owners may have charged it; 0 is surely none. Null as accepted: only its
-- owner's memory knows, and whoever takes it from a dead owner adds what that epoch may have used.
-- held_by: the processor that answered a charge of it by 422: it is there, and is charged nowhere any more.
-- attempts: the charges of a parked payment that were sent; null where unknown.
-- payer: whose token the payment came with; null where none was needed.
CREATE UNLOGGED TABLE payments (
    correlation_id uuid PRIMARY KEY,
    amount_cents   bigint NOT NULL,
    accepted_at    timestamptz NOT NULL,
    owner_epoch    integer NOT NULL,
    may_be_at      smallint,
    held_by        smallint,
    attempts       smallint,
    parked_at      timestamptz,
    parked_reason  text,
    payer          integer
);

-- As accepted only while it is owned; parked if and only if it has a time and a reason; held by a processor. A trigger
-- and no CHECK, because a payment is always inserted as accepted by an open epoch (StatementRulesTests), and PostgreSQL
-- prepares the expression of a CHECK anew for each INSERT: these took 3 to 6 % of a payment's CPU at 550/s, the first
-- one alone 3 % (make ab, PostgreSQL 15, 2026-11-28).
CREATE OR REPLACE FUNCTION refuse_impossible_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.owner_epoch > 0 OR NEW.may_be_at IS NOT NULL)
       AND (NEW.owner_epoch = -1) = (NEW.parked_at IS NOT NULL)
       AND (NEW.owner_epoch = -1) = (NEW.parked_reason IS NOT NULL)
       AND (NEW.held_by IS NULL OR NEW.held_by BETWEEN 1 AND 14) THEN
        RETURN NEW;
    END IF;
    RAISE check_violation USING MESSAGE = 'payment in an impossible state: ' || NEW, CONSTRAINT = 'possible_state';
END $$;

CREATE TRIGGER possible_state BEFORE UPDATE ON payments FOR EACH ROW EXECUTE FUNCTION refuse_impossible_state();

-- An owner's unsettled payments are found by owner and time; the owner's lease says from which time on.
CREATE INDEX payments_owner ON payments (owner_epoch, accepted_at);

-- For people and tests: SELECT payment_state(owner_epoch, may_be_at), count(*) FROM payments GROUP BY 1.
CREATE OR REPLACE FUNCTION payment_state(owner_epoch integer, may_be_at smallint) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT CASE WHEN owner_epoch = -1 THEN 'parked' WHEN owner_epoch = 0 THEN 'released' WHEN may_be_at IS NULL
               THEN 'accepted' ELSE 'adopted' END $$;

-- Unsettled payments whose owner has said that they are in doubt, for display. A row may outlive its doubt for half a
-- minute.
CREATE UNLOGGED TABLE doubts (
    accepted_at    timestamptz NOT NULL,
    correlation_id uuid NOT NULL,
    in_doubt_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (accepted_at, correlation_id)
);

-- What the processors have charged; the key makes a second record impossible, as an id is accepted at one time only.
-- The time comes first so that new rows meet in the same few pages of the index, however large the ledger is.
-- attempts: the charges that were sent; null where unknown.
-- recorded_by: the position of its event (EventStore.OwnPosition). Null after a correction, which moves the event to
-- payment_events.
CREATE UNLOGGED TABLE settlements (
    correlation_id uuid NOT NULL,
    accepted_at    timestamptz NOT NULL,
    processor      smallint NOT NULL,
    amount_cents   bigint NOT NULL,
    requested_at   timestamptz NOT NULL,
    attempts       smallint,
    recorded_by    xid8,
    recorded_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (accepted_at, correlation_id),
    CONSTRAINT charged_by_a_processor CHECK (processor BETWEEN 1 AND 14)
);

-- The partial buckets at the two edges of a summary's window.
CREATE INDEX settlements_requested_at ON settlements (requested_at);

CREATE INDEX settlements_recorded_by ON settlements (recorded_by) WHERE recorded_by IS NOT NULL;

-- Sums per processor and time bucket, each settlement twice: in a bucket of 5 and in one of 3,600 seconds, so that a
-- summary reads few rows of an old ledger. The writer's epoch is in the key so that two instances never wait for each
-- other's row; the sum is numeric because 92,234 payments of the largest amount would overflow a bigint.
CREATE UNLOGGED TABLE settlement_totals (
    width_seconds smallint NOT NULL,
    bucket        timestamptz NOT NULL,
    processor     smallint NOT NULL,
    epoch         integer NOT NULL,
    requests      bigint NOT NULL,
    amount_cents  numeric NOT NULL,
    PRIMARY KEY (width_seconds, bucket, processor, epoch),
    CONSTRAINT width_is_a_bucket CHECK (width_seconds IN (5, 3600))
) WITH (fillfactor = 50);

-- What happens to few payments, for the feed (docs/decisions/0031-events-by-transaction.md). A transaction has one
-- event of a payment. Settled: the event of a settlement that was corrected later, as it was. Corrected without a
-- processor: put back.
CREATE UNLOGGED TABLE payment_events (
    recorded_by    xid8 NOT NULL,
    correlation_id uuid NOT NULL,
    kind           text NOT NULL,
    accepted_at    timestamptz NOT NULL,
    amount_cents   bigint NOT NULL,
    processor      smallint,
    requested_at   timestamptz,
    reason         text,
    occurred_at    timestamptz NOT NULL DEFAULT now(),
    recorded_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (recorded_by, correlation_id),
    CONSTRAINT content_of_its_kind CHECK (CASE kind
        WHEN 'parked' THEN reason IS NOT NULL AND num_nonnulls(processor, requested_at) = 0
        WHEN 'replayed' THEN num_nonnulls(reason, processor, requested_at) = 0
        WHEN 'settled' THEN reason IS NULL AND num_nulls(processor, requested_at) = 0
        WHEN 'corrected' THEN reason IS NULL AND num_nulls(processor, requested_at) <> 1
        ELSE false END)
);

-- One row: which ledger this is. A purge begins a new generation. A reset is a crash of the database that emptied it.
-- kept_from: a whole hour, UTC. Settlements requested since then are all there, earlier ones perhaps not.
-- removed_until: what was requested before it was gone through by the retention.
-- began_at: what was requested earlier was never counted in this ledger.
-- forgotten_by: the last position whose events the retention has deleted.
-- server: the system identifier of the server whose transaction ids position_offset belongs to. A standby shares it.
CREATE TABLE ledger (
    id              smallint PRIMARY KEY,
    generation      integer NOT NULL DEFAULT 1,
    resets          integer NOT NULL DEFAULT 0,
    reset_at        timestamptz,
    kept_from       timestamptz NOT NULL DEFAULT '-infinity',
    removed_until   timestamptz NOT NULL DEFAULT '-infinity',
    began_at        timestamptz NOT NULL DEFAULT now(),
    forgotten_by    xid8 NOT NULL DEFAULT '0',
    server          bigint NOT NULL,
    position_offset bigint NOT NULL DEFAULT 0,
    CONSTRAINT one_row CHECK (id = 1)
);

INSERT INTO ledger (id, server) SELECT 1, system_identifier FROM pg_control_system();

-- Emptied together with the ledger when the database crashes, so its row missing is how a reset is noticed.
CREATE UNLOGGED TABLE ledger_intact (
    id smallint PRIMARY KEY,
    CONSTRAINT one_row CHECK (id = 1)
);

INSERT INTO ledger_intact (id) VALUES (1);

-- The endpoints that events are delivered to (docs/decisions/0032-webhooks.md). The name is in lower case.
-- position: where its events have been delivered up to; null where none has yet, empty where it begins with the oldest.
-- holder: the instance that delivers; due_at: from then on any may take it, because a delivery has ended or failed.
CREATE TABLE webhooks (
    name          text PRIMARY KEY,
    position      text,
    holder        text NOT NULL DEFAULT '',
    due_at        timestamptz NOT NULL DEFAULT '-infinity',
    failures      integer NOT NULL DEFAULT 0,
    failing_since timestamptz,
    failure       text,
    CONSTRAINT failing_if_and_only_if_failure_and_time CHECK (
        num_nonnulls(failing_since, failure) = CASE failures WHEN 0 THEN 0 ELSE 2 END)
);

-- What operators did. actor: the name of the token, or anyone where none was needed.
CREATE TABLE operator_actions (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    acted_at timestamptz NOT NULL DEFAULT now(),
    instance text NOT NULL,
    actor    text NOT NULL,
    action   text NOT NULL,
    target   text NOT NULL,
    outcome  text NOT NULL,
    address  text NOT NULL
);

-- Append-only for whoever may write to it; its owner can take the trigger away.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON operator_actions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Transactions whose rows of payments may become visible later; who prepared one may be gone. A prepared one has its
-- transaction id, which outlasts a restart of the server. postgres/citus.sql replaces the view. The table is looked up
-- by name at each use, otherwise it could not be dropped beside the view.
CREATE OR REPLACE VIEW unfinished_writers AS
    SELECT CASE WHEN pid IS NULL
                THEN 'prepared ' || coalesce((SELECT min(transactionid::text) FROM pg_locks AS own
                                              WHERE own.virtualtransaction = locks.virtualtransaction
                                                AND own.pid IS NULL), virtualtransaction)
                ELSE virtualtransaction END AS writer
    FROM pg_locks AS locks
    WHERE relation = to_regclass('payments') AND mode = 'RowExclusiveLock'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database());

-- list_payments, list_events and remove_old_payments are several statements each, because a database of several servers
-- joins no page of payments with leases, has no snapshot for two queries, and locks no rows of a distributed table by a
-- query. They are functions, because an instance that is frozen between two statements of its own would keep the locks
-- of the first. Plans are made for the given values, otherwise a page may read a whole backlog.

-- A page of payments before a position for each owner: of all payments, of those with an owner (settled ones are among
-- them, so that a page costs as many rows as it has), or of parked ones. A call has one snapshot, because payments
-- change owners. Payments are locked before settlements, as by a purge. PostgreSQL 15 would sort a whole backlog where
-- it expects one row of it; a sort within the index's order is left to it.
CREATE OR REPLACE FUNCTION list_payments(
    which text, from_at timestamptz, before_at timestamptz, before_id uuid, page_max int)
RETURNS TABLE (
    correlation_id uuid, accepted_at timestamptz, amount_cents bigint, owner_epoch int, processor text,
    requested_at timestamptz, attempts smallint, in_doubt_at timestamptz, parked_at timestamptz, parked_reason text,
    payer text)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan SET enable_sort = off AS $$
#variable_conflict use_column
DECLARE
    parked CONSTANT int := -1;
    owner record;
BEGIN
    PERFORM 1 FROM payments LIMIT 0;
    IF which = 'all' THEN
        RETURN QUERY SELECT correlation_id, accepted_at, amount_cents, 0,
            (SELECT name FROM processors WHERE id = processor), requested_at, attempts, NULL::timestamptz,
            NULL::timestamptz, NULL::text,
            (SELECT (SELECT name FROM payers WHERE id = p.payer) FROM payments AS p
             WHERE p.accepted_at = settlements.accepted_at AND p.correlation_id = settlements.correlation_id)
        FROM settlements
        WHERE accepted_at >= from_at AND (accepted_at, correlation_id) < (before_at, before_id)
        ORDER BY accepted_at DESC, correlation_id DESC LIMIT page_max;
        -- Where settled payments fill a page, the search for the others ends at the last of these, so it passes at most
        -- a page of settled ones, however old the owner's low-water mark is.
        SELECT coalesce(min(accepted_at), from_at) INTO from_at FROM (
            SELECT accepted_at FROM settlements
            WHERE accepted_at >= from_at AND (accepted_at, correlation_id) < (before_at, before_id)
            ORDER BY accepted_at DESC, correlation_id DESC OFFSET page_max - 1 LIMIT 1) AS last;
    END IF;
    FOR owner IN
        SELECT epoch, low_water_mark FROM leases WHERE adopted_at IS NULL AND which <> 'parked'
        UNION ALL SELECT parked, '-infinity' WHERE which <> 'owned'
    LOOP
        RETURN QUERY SELECT correlation_id, accepted_at,
            coalesce((SELECT amount_cents FROM settlements AS s WHERE s.accepted_at = payments.accepted_at
                        AND s.correlation_id = payments.correlation_id), amount_cents),
            owner_epoch,
            (SELECT (SELECT name FROM processors WHERE id = s.processor) FROM settlements AS s
             WHERE s.accepted_at = payments.accepted_at AND s.correlation_id = payments.correlation_id),
            (SELECT requested_at FROM settlements AS s WHERE s.accepted_at = payments.accepted_at
               AND s.correlation_id = payments.correlation_id),
            coalesce((SELECT attempts FROM settlements AS s WHERE s.accepted_at = payments.accepted_at
                        AND s.correlation_id = payments.correlation_id), attempts),
            (SELECT in_doubt_at FROM doubts WHERE doubts.accepted_at = payments.accepted_at
               AND doubts.correlation_id = payments.correlation_id),
            parked_at, parked_reason, (SELECT name FROM payers WHERE id = payments.payer)
        FROM payments
        WHERE owner_epoch = owner.epoch AND accepted_at >= greatest(from_at, owner.low_water_mark)
          AND accepted_at <= before_at AND (accepted_at, correlation_id) < (before_at, before_id)
          AND (which <> 'all' OR (
              SELECT true FROM settlements AS s WHERE s.accepted_at = payments.accepted_at
                AND s.correlation_id = payments.correlation_id) IS NULL)
        ORDER BY accepted_at DESC, correlation_id DESC LIMIT page_max;
    END LOOP;
END $$;

-- All transactions before this one have ended. postgres/citus.sql replaces it.
CREATE OR REPLACE FUNCTION oldest_transaction() RETURNS xid8 LANGUAGE sql STABLE AS
$$ SELECT pg_snapshot_xmin(pg_current_snapshot()) $$;

-- A page of each table's events after a position, and a row without a kind: every transaction before its position has
-- ended, and rows of a later one may still be invisible (docs/decisions/0031-events-by-transaction.md). Rows up to
-- forgotten_by are left out: retention may keep some, but a page of them would have no next one. Rows after a crash
-- that is not marked yet have no position, and are left out too. Transactions are read whole, because an order by id as
-- well may sort all that follow; nothing is looked up for a row, because several servers would then cut a transaction.
CREATE OR REPLACE FUNCTION list_events(from_transaction xid8, after_id uuid, page_max int)
RETURNS TABLE (
    recorded_by xid8, kind text, correlation_id uuid, accepted_at timestamptz, amount_cents bigint, processor smallint,
    requested_at timestamptz, reason text, occurred_at timestamptz, generation int, resets int, forgotten_by xid8)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    feed record;
BEGIN
    SELECT (oldest_transaction()::text::bigint + position_offset)::text::xid8 AS before, generation, resets,
           forgotten_by, EXISTS (SELECT 1 FROM ledger_intact) AS intact INTO feed FROM ledger WHERE id = 1;
    RETURN QUERY SELECT feed.before, NULL, NULL::uuid, NULL::timestamptz, NULL::bigint, NULL::smallint,
        NULL::timestamptz, NULL, NULL::timestamptz, feed.generation, feed.resets, feed.forgotten_by;
    IF NOT feed.intact THEN
        RETURN;
    END IF;
    RETURN QUERY SELECT recorded_by, 'settled', correlation_id, accepted_at, amount_cents, processor, requested_at,
        NULL, requested_at, feed.generation, feed.resets, feed.forgotten_by
    FROM settlements
    WHERE recorded_by >= from_transaction AND (recorded_by, correlation_id) > (from_transaction, after_id)
      AND recorded_by > feed.forgotten_by AND recorded_by < feed.before
    ORDER BY recorded_by FETCH FIRST (page_max) ROWS WITH TIES;
    RETURN QUERY SELECT recorded_by, kind, correlation_id, accepted_at, amount_cents, processor, requested_at, reason,
        occurred_at, feed.generation, feed.resets, feed.forgotten_by
    FROM payment_events
    WHERE recorded_by >= from_transaction AND (recorded_by, correlation_id) > (from_transaction, after_id)
      AND recorded_by > feed.forgotten_by AND recorded_by < feed.before
    ORDER BY recorded_by FETCH FIRST (page_max) ROWS WITH TIES;
END $$;

-- Moves positions on, past every one that the ledger ever gave: where it is on another server, whose transaction ids
-- differ, and where it is restored, after which the same server may give its ids again. They go on at the time in
-- microseconds, because a server has fewer transactions, so a position is never ahead of the clock; and past what the
-- ledger has, in case the clock is behind. What is being recorded ends first, otherwise a reader could pass it.
-- restored: begins a generation, whose number is of the minute, because the lost ledger may have counted on. Endpoints
-- keep the positions of the backup; positions that the lost ledger gave to others are refused.
CREATE OR REPLACE FUNCTION move_positions_on(restored boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    here bigint;
    was record;
    settled xid8;
    told xid8;
BEGIN
    SELECT system_identifier INTO here FROM pg_control_system();
    IF NOT restored AND here = (SELECT server FROM ledger WHERE id = 1) THEN
        RETURN;
    END IF;
    LOCK TABLE settlements, payment_events IN SHARE MODE;
    SELECT max(recorded_by) INTO settled FROM settlements;
    SELECT max(recorded_by) INTO told FROM payment_events;
    SELECT generation, server INTO was FROM ledger WHERE id = 1 FOR UPDATE;
    IF NOT restored AND here = was.server THEN
        RETURN;
    END IF;
    UPDATE ledger
    SET server = here,
        generation = CASE WHEN restored
            THEN greatest(generation + 1, (extract(epoch FROM clock_timestamp()) / 60)::int) ELSE generation END,
        position_offset = greatest(
            (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
            greatest(settled, told, forgotten_by)::text::bigint + 1)
            - pg_snapshot_xmin(pg_current_snapshot())::text::bigint
    WHERE id = 1;
    IF restored THEN
        UPDATE webhooks
        SET position = (SELECT generation FROM ledger WHERE id = 1) || substring(position FROM strpos(position, '-')),
            holder = '', due_at = now()
        WHERE position LIKE was.generation || '-%';
    END IF;
END $$;

-- Deletes the oldest settled payments, at most page_max, from whole hours that are older than the retention by both
-- clocks, and returns their number. One instance at a time has the claim; the others return 0. A parked payment stays.
-- A payment is deleted only with its settlement; where that has just been put back, the whole page waits for the next
-- call. A settlement and an event stay as long after they were recorded, too, so what is deleted was recorded before
-- everything that the feed has to keep, and forgotten_by takes no young event out of it. Settlements that were recorded
-- behind removed_until, and those that had to stay, are deleted at the first call of an hour. kept_from goes back after
-- clocks that were ahead, but never below a deleted payment. Rows are deleted in no order, so this can deadlock with an
-- adoption of payments that were settled a moment ago; it gives up first, because nobody waits for it.
CREATE OR REPLACE FUNCTION remove_old_payments(by_instance timestamptz, retention interval, page_max int) RETURNS bigint
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan SET lock_timeout = '20ms' AS $$
DECLARE
    parked CONSTANT int := -1;
    claim record;
    page record;
    gone uuid[];
    settled record;
    told record;
BEGIN
    LOCK TABLE payments IN ROW EXCLUSIVE MODE;
    SELECT removed_until, kept_from, date_bin('1 hour', least(now(), by_instance) - retention, 'epoch') AS due
    INTO claim FROM ledger WHERE id = 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    SELECT array_agg(correlation_id ORDER BY correlation_id) AS ids,
           array_agg(accepted_at ORDER BY correlation_id) AS times,
           min(requested_at) AS first, max(requested_at) AS last INTO page FROM (
        SELECT correlation_id, accepted_at, requested_at FROM settlements
        WHERE requested_at < claim.removed_until AND recorded_at < claim.due AND claim.due > claim.kept_from
          AND requested_at < claim.due
          AND (SELECT owner_epoch <> parked FROM payments WHERE payments.correlation_id = settlements.correlation_id
                 AND payments.accepted_at = settlements.accepted_at)
        ORDER BY requested_at LIMIT page_max) AS oldest;
    IF page.ids IS NULL THEN
        claim.kept_from := claim.due;
        SELECT array_agg(correlation_id ORDER BY correlation_id) AS ids,
               array_agg(accepted_at ORDER BY correlation_id) AS times,
               min(requested_at) AS first, max(requested_at) AS last INTO page FROM (
            SELECT correlation_id, accepted_at, requested_at FROM settlements
            WHERE requested_at >= claim.removed_until AND requested_at < claim.due AND recorded_at < claim.due
            ORDER BY requested_at LIMIT page_max) AS oldest;
    END IF;
    WITH removed AS (
        DELETE FROM payments
        WHERE correlation_id = ANY(page.ids) AND owner_epoch <> parked
          AND (accepted_at, correlation_id) IN (SELECT * FROM unnest(page.times, page.ids))
        RETURNING correlation_id
    )
    SELECT array_agg(correlation_id) INTO gone FROM removed;
    SELECT 0::bigint AS rows, NULL::xid8 AS last INTO settled;
    -- Otherwise several servers refuse the deletion, because it compares times with null.
    IF gone IS NOT NULL THEN
        WITH removed AS (
            DELETE FROM settlements
            WHERE requested_at >= page.first AND requested_at <= page.last AND correlation_id = ANY(gone)
              AND (accepted_at, correlation_id) IN (SELECT * FROM unnest(page.times, page.ids))
            RETURNING recorded_by
        )
        SELECT count(*) AS rows, max(recorded_by) AS last INTO settled FROM removed;
    END IF;
    IF settled.rows <> coalesce(cardinality(gone), 0) THEN
        RAISE EXCEPTION 'a payment was put back meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;
    WITH oldest AS (
        SELECT recorded_by, correlation_id FROM payment_events ORDER BY recorded_by, correlation_id LIMIT page_max
    ), removed AS (
        DELETE FROM payment_events
        WHERE (recorded_by, correlation_id) IN (SELECT recorded_by, correlation_id FROM oldest)
          AND occurred_at < claim.due AND recorded_at < claim.due
        RETURNING recorded_by
    )
    SELECT max(recorded_by) AS last INTO told FROM removed;
    UPDATE ledger
    SET removed_until = greatest(removed_until, page.last),
        kept_from = greatest(claim.kept_from, date_bin('1 hour', removed_until, 'epoch') + interval '1 hour'),
        forgotten_by = greatest(forgotten_by, settled.last, told.last)
    WHERE id = 1;
    RETURN settled.rows;
END $$;
