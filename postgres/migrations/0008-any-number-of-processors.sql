-- Gives each name of a processor its number, for good: settlements, totals and marks have the number. Logged in both
-- profiles. At most 14, because a set of them is a smallint: bit n is for id n.
-- payments.handover is from now on 1 and the set of the processors that may have a charge; 2 stands for 7, as an earlier
-- version writes it.
CREATE TABLE IF NOT EXISTS processors (
    id   smallint PRIMARY KEY CHECK (id BETWEEN 1 AND 14),
    name text NOT NULL UNIQUE
);

INSERT INTO processors (id, name) VALUES (1, 'default'), (2, 'fallback') ON CONFLICT DO NOTHING;

-- processors: the name and base URL of each, which instances of one ledger share.
-- used_processors: the set that the epoch may use; 0 while an earlier version, which has default_url, fallback_url and
-- used_fallback, owns the row.
ALTER TABLE leases ADD COLUMN IF NOT EXISTS processors text;

ALTER TABLE leases ADD COLUMN IF NOT EXISTS used_processors smallint NOT NULL DEFAULT 0;

-- What an adopter has to suppose, of either version. Released payments have their own sets.
ALTER TABLE leases ADD COLUMN IF NOT EXISTS may_have_used smallint NOT NULL GENERATED ALWAYS AS (
    CASE WHEN epoch = 0 THEN 0 WHEN used_processors <> 0 THEN used_processors
         WHEN used_fallback THEN 6 ELSE 2 END) STORED;
