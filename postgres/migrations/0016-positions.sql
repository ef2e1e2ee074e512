-- Positions of the feed that outlive the server (docs/decisions/0033-positions-outlive-the-server.md), and a retention
-- that keeps an event as long as a payment. In the order in which every statement locks these tables.
-- recorded_by: from now on a position: the transaction's id plus ledger.position_offset. Statements of this version
-- name it; the default is for an earlier version, which runs only while the offset is 0.
-- recorded_at: when the row was recorded, by PostgreSQL's clock; -infinity in rows of before this migration.
ALTER TABLE settlements ADD COLUMN IF NOT EXISTS recorded_at timestamptz NOT NULL DEFAULT '-infinity';

ALTER TABLE settlements ALTER COLUMN recorded_at SET DEFAULT now();

ALTER TABLE payment_events ADD COLUMN IF NOT EXISTS recorded_at timestamptz NOT NULL DEFAULT '-infinity';

ALTER TABLE payment_events ALTER COLUMN recorded_at SET DEFAULT now();

-- server: the system identifier of the server whose transaction ids position_offset belongs to. A standby shares it.
ALTER TABLE ledger ADD COLUMN IF NOT EXISTS server bigint NOT NULL DEFAULT 0;

ALTER TABLE ledger ADD COLUMN IF NOT EXISTS position_offset bigint NOT NULL DEFAULT 0;

UPDATE ledger SET server = (SELECT system_identifier FROM pg_control_system()) WHERE server = 0;

-- The position of what a transaction of this server records. No view, because the table could not be dropped beside it.
CREATE OR REPLACE FUNCTION event_position(transaction xid8) RETURNS xid8 LANGUAGE plpgsql STABLE AS $$
BEGIN RETURN (SELECT (transaction::text::bigint + position_offset)::text::xid8 FROM ledger WHERE id = 1); END $$;

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

-- As in 0012, but a settlement and an event stay as long after they were recorded, too. So what is deleted was recorded
-- before everything that the feed has to keep, and forgotten_by takes no young event out of it. Settlements that were
-- recorded behind removed_until, and those that had to stay, are deleted at the first call of an hour.
CREATE OR REPLACE FUNCTION remove_old_payments(by_instance timestamptz, retention interval, page_max int) RETURNS bigint
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan SET lock_timeout = '20ms' AS $$
DECLARE
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
          AND (SELECT owner_epoch <> -1 FROM payments WHERE payments.correlation_id = settlements.correlation_id
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
        WHERE correlation_id = ANY(page.ids) AND owner_epoch <> -1
          AND (accepted_at, correlation_id) IN (SELECT * FROM unnest(page.times, page.ids))
        RETURNING correlation_id
    )
    SELECT array_agg(correlation_id) INTO gone FROM removed;
    WITH removed AS (
        DELETE FROM settlements
        WHERE requested_at >= page.first AND requested_at <= page.last AND correlation_id = ANY(gone)
          AND (accepted_at, correlation_id) IN (SELECT * FROM unnest(page.times, page.ids))
        RETURNING recorded_by
    )
    SELECT count(*) AS rows, max(recorded_by) AS last INTO settled FROM removed;
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

-- Names of endpoints have no case, as those of all settings. Of two rows of one endpoint the one stays that was in use.
DELETE FROM webhooks AS old USING webhooks AS used
WHERE lower(old.name) = lower(used.name) AND (old.due_at, old.name) < (used.due_at, used.name);

UPDATE webhooks SET name = lower(name) WHERE name <> lower(name);
