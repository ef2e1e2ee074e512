-- A store of several servers joins no page of payments with leases, and locks no rows of a distributed table by a query.
-- So these are several statements each, and functions, because an instance that is frozen between two statements of its
-- own would keep the locks of the first.

-- A page of payments before a position for each owner: of all payments, of those with an owner (settled ones are among
-- them, so that a page costs as many rows as it has), or of parked ones. A call has one snapshot, because payments
-- change owners. Plans are made for the given values, otherwise a page may read a whole backlog. Payments are locked
-- before settlements, as by a purge.
CREATE OR REPLACE FUNCTION list_payments(
    which text, from_at timestamptz, before_at timestamptz, before_id uuid, page_max int)
RETURNS TABLE (
    correlation_id uuid, accepted_at timestamptz, amount_cents bigint, owner_epoch int, processor text,
    requested_at timestamptz, attempts smallint, in_doubt_at timestamptz, parked_at timestamptz, parked_reason text)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    owner record;
BEGIN
    PERFORM 1 FROM payments LIMIT 0;
    IF which = 'all' THEN
        RETURN QUERY SELECT correlation_id, accepted_at, amount_cents, 0,
            (SELECT name FROM processors WHERE id = processor), requested_at, attempts, NULL::timestamptz,
            NULL::timestamptz, NULL::text
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
        UNION ALL SELECT -1, '-infinity' WHERE which <> 'owned'
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
            parked_at, parked_reason
        FROM payments
        WHERE owner_epoch = owner.epoch AND accepted_at >= greatest(from_at, owner.low_water_mark)
          AND accepted_at <= before_at AND (accepted_at, correlation_id) < (before_at, before_id)
          AND (which <> 'all' OR (
              SELECT true FROM settlements AS s WHERE s.accepted_at = payments.accepted_at
                AND s.correlation_id = payments.correlation_id) IS NULL)
        ORDER BY accepted_at DESC FETCH FIRST (page_max) ROWS WITH TIES;
    END LOOP;
END $$;

-- Deletes the oldest settled payments, at most page_max, from whole hours that are older than the retention by both
-- clocks, and returns their number. One instance at a time has the claim; the others return 0. A parked payment stays. A
-- payment is deleted only with its settlement; where that has just been put back, the whole page waits for the next
-- call. kept_from goes back after clocks that were ahead, but never below a deleted payment.
CREATE OR REPLACE FUNCTION remove_old_payments(by_instance timestamptz, retention interval, page_max int) RETURNS bigint
LANGUAGE plpgsql SET plan_cache_mode = force_custom_plan SET lock_timeout = '300ms' AS $$
DECLARE
    claim record;
    page record;
    gone uuid[];
    settled bigint;
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
    DELETE FROM settlements
    WHERE requested_at >= claim.removed_until AND requested_at <= page.last AND correlation_id = ANY(gone)
      AND (accepted_at, correlation_id) IN (SELECT * FROM unnest(page.times, page.ids));
    GET DIAGNOSTICS settled = ROW_COUNT;
    IF settled <> coalesce(cardinality(gone), 0) THEN
        RAISE EXCEPTION 'a payment was put back meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;
    UPDATE ledger
    SET removed_until = greatest(removed_until, page.last),
        kept_from = greatest(claim.due, date_bin('1 hour', removed_until, 'epoch') + interval '1 hour')
    WHERE id = 1;
    RETURN settled;
END $$;
