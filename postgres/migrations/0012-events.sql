-- The feed of events (docs/decisions/0031-events-by-transaction.md). In the order in which every statement locks these
-- tables.
-- recorded_by: the transaction that recorded the row, by the column's default; null in rows of before this migration,
-- which the feed leaves out. A correction keeps it.
ALTER TABLE settlements ADD COLUMN IF NOT EXISTS recorded_by xid8;

ALTER TABLE settlements ALTER COLUMN recorded_by SET DEFAULT pg_current_xact_id();

-- Partial, so that its creation reads the rows of before and sorts none.
CREATE INDEX IF NOT EXISTS settlements_recorded_by ON settlements (recorded_by) WHERE recorded_by IS NOT NULL;

-- What happens to few payments. kind: parked, replayed or corrected. A transaction has one event of a payment at most.
CREATE UNLOGGED TABLE IF NOT EXISTS payment_events (
    recorded_by    xid8 NOT NULL DEFAULT pg_current_xact_id(),
    correlation_id uuid NOT NULL,
    kind           text NOT NULL,
    accepted_at    timestamptz NOT NULL,
    amount_cents   bigint NOT NULL,
    processor      smallint,
    requested_at   timestamptz,
    reason         text,
    occurred_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (recorded_by, correlation_id)
);

-- forgotten_by: the last transaction whose events the retention has deleted.
ALTER TABLE ledger ADD COLUMN IF NOT EXISTS forgotten_by xid8 NOT NULL DEFAULT '0';

-- As in 0010 and 0011, and it deletes the events of that time, too.
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
    SELECT removed_until, date_bin('1 hour', least(now(), by_instance) - retention, 'epoch') AS due INTO claim
    FROM ledger WHERE id = 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    SELECT array_agg(correlation_id ORDER BY correlation_id) AS ids,
           array_agg(accepted_at ORDER BY correlation_id) AS times, max(requested_at) AS last INTO page FROM (
        SELECT correlation_id, accepted_at, requested_at FROM settlements
        WHERE requested_at >= claim.removed_until AND requested_at < claim.due
        ORDER BY requested_at LIMIT page_max) AS oldest;
    WITH removed AS (
        DELETE FROM payments
        WHERE correlation_id = ANY(page.ids) AND owner_epoch <> -1
          AND (accepted_at, correlation_id) IN (SELECT * FROM unnest(page.times, page.ids))
        RETURNING correlation_id
    )
    SELECT array_agg(correlation_id) INTO gone FROM removed;
    WITH removed AS (
        DELETE FROM settlements
        WHERE requested_at >= claim.removed_until AND requested_at <= page.last AND correlation_id = ANY(gone)
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
          AND occurred_at < claim.due
        RETURNING recorded_by
    )
    SELECT max(recorded_by) AS last INTO told FROM removed;
    UPDATE ledger
    SET removed_until = greatest(removed_until, page.last),
        kept_from = greatest(claim.due, date_bin('1 hour', removed_until, 'epoch') + interval '1 hour'),
        forgotten_by = greatest(forgotten_by, settled.last, told.last)
    WHERE id = 1;
    RETURN settled.rows;
END $$;
