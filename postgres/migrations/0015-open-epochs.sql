-- not_charged: how often an operator has said that the processor has not charged the payments in doubt there.
ALTER TABLE processors ADD COLUMN IF NOT EXISTS not_charged integer NOT NULL DEFAULT 0;

-- The epochs that may store payments, apart from their leases: an INSERT of payments reads its epoch's row, and a renewal
-- rewrites the lease each second. While a dump, a report or a replication slot holds a snapshot, PostgreSQL keeps every
-- version of a row, and each reader passes all of them by. Logged in both profiles, as leases are.
-- refused_until: as in the lease. A closed epoch has no row.
CREATE TABLE IF NOT EXISTS open_epochs (
    epoch         integer PRIMARY KEY,
    refused_until timestamptz NOT NULL
);

-- A trigger, because an earlier version closes epochs too. OLD is null where a lease begins, NEW where one is deleted.
CREATE OR REPLACE FUNCTION follow_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM open_epochs WHERE epoch = OLD.epoch;
    INSERT INTO open_epochs (epoch, refused_until)
    SELECT NEW.epoch, NEW.refused_until WHERE NEW.epoch IS NOT NULL AND NEW.closed_at IS NULL;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER lease_begins_or_goes AFTER INSERT OR DELETE ON leases
    FOR EACH ROW EXECUTE FUNCTION follow_lease();

-- A renewal that changes neither calls no function.
CREATE OR REPLACE TRIGGER lease_changes AFTER UPDATE ON leases FOR EACH ROW
    WHEN (OLD.closed_at IS DISTINCT FROM NEW.closed_at OR OLD.refused_until <> NEW.refused_until)
    EXECUTE FUNCTION follow_lease();

-- Nobody changes leases meanwhile, because CREATE TRIGGER has locked the table.
INSERT INTO open_epochs (epoch, refused_until) SELECT epoch, refused_until FROM leases WHERE closed_at IS NULL;
