-- When a payment came in doubt, and how many charges its settlement took. Null where an earlier version wrote the row.
-- In the order in which every statement locks these tables.
ALTER TABLE payments ADD COLUMN IF NOT EXISTS in_doubt_at timestamptz;

ALTER TABLE settlements ADD COLUMN IF NOT EXISTS attempts smallint;
