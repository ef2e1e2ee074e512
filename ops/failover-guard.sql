-- For the database pg_auto_failover of its monitor (seen with 2.0). Without it a failover may lose the payments that
-- were acknowledged in half a minute: the monitor decides by a row that it read before another decision was committed,
-- and lets a primary whose standby is being promoted go on alone
-- (https://github.com/hapostgres/pg_auto_failover/issues/774). The trigger sees the row as it is now. A node repeats a
-- call that was refused a second later.
CREATE FUNCTION public.failover_guard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION '%: % to % refused', NEW.nodename, OLD.goalstate, NEW.goalstate;
END $$;
CREATE TRIGGER failover_guard BEFORE UPDATE ON pgautofailover.node FOR EACH ROW WHEN (
    -- A node that is being replaced does not acknowledge alone.
    NEW.goalstate = 'wait_primary' AND OLD.goalstate IN ('draining', 'demote_timeout', 'demoted')
    -- A node that acknowledged alone is not replaced: the other one may lack what it has.
    OR NEW.goalstate IN ('draining', 'demote_timeout') AND OLD.goalstate <> NEW.goalstate
        AND NEW.reportedstate = 'wait_primary')
    EXECUTE FUNCTION public.failover_guard();
