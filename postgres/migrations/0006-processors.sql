-- The base URLs of the processors that an epoch charges: instances of one ledger must name the same. Null where an
-- earlier version wrote the row.
ALTER TABLE leases ADD COLUMN IF NOT EXISTS default_url text;

ALTER TABLE leases ADD COLUMN IF NOT EXISTS fallback_url text;
