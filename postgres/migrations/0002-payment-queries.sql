-- For GET /payments alone: nothing decides by these. Null where an earlier version wrote the row.
-- In the order in which every statement locks these tables.
-- parked_at and attempts are of a parked payment; attempts counts the charges that were sent, null where unknown.
ALTER TABLE payments ADD COLUMN IF NOT EXISTS parked_at timestamptz;

ALTER TABLE payments ADD COLUMN IF NOT EXISTS attempts smallint;

ALTER TABLE settlements ADD COLUMN IF NOT EXISTS attempts smallint;

-- Unsettled payments whose owner has said that they are in doubt. A row may outlive its doubt for half a minute.
CREATE UNLOGGED TABLE IF NOT EXISTS doubts (
    accepted_at    timestamptz NOT NULL,
    correlation_id uuid NOT NULL,
    in_doubt_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (accepted_at, correlation_id)
);
