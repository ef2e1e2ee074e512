-- Where old settled payments have left payments and settlements; totals stay. -infinity: nothing has left.
-- In the order in which a purge locks these tables.
LOCK TABLE settlements IN ACCESS SHARE MODE;

-- kept_from: a whole hour, UTC. Settlements requested since then are all there, earlier ones perhaps not.
-- removed_until: what was requested before it was gone through; always before kept_from.
-- began_at: what was requested earlier was never counted in this ledger.
ALTER TABLE ledger ADD COLUMN IF NOT EXISTS kept_from timestamptz NOT NULL DEFAULT '-infinity';

ALTER TABLE ledger ADD COLUMN IF NOT EXISTS removed_until timestamptz NOT NULL DEFAULT '-infinity';

ALTER TABLE ledger ADD COLUMN IF NOT EXISTS began_at timestamptz NOT NULL DEFAULT now();

-- Nothing has left yet, so the first that was counted is there.
UPDATE ledger SET began_at = least(began_at, (SELECT min(requested_at) FROM settlements));

-- Hours that have passed by the monotonic clock of some instance: at least a true one lies between two rows, whatever
-- the wall clocks did. lowest: the earliest time that any of those said in it.
CREATE UNLOGGED TABLE IF NOT EXISTS retention_hours (
    hour   bigint PRIMARY KEY,
    lowest timestamptz NOT NULL
);
