-- Where old settled payments have left payments and settlements; totals stay. -infinity: nothing has left.
-- kept_from: a whole hour, UTC. Settlements requested since then are all there, earlier ones perhaps not.
-- removed_until: what was requested before it was gone through; never past kept_from.
ALTER TABLE ledger ADD COLUMN IF NOT EXISTS kept_from timestamptz NOT NULL DEFAULT '-infinity';

ALTER TABLE ledger ADD COLUMN IF NOT EXISTS removed_until timestamptz NOT NULL DEFAULT '-infinity';
