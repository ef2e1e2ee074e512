-- The ledger. Safe to apply to tables that an earlier version made without a number. Rules for the statements:
-- docs/decisions, 0009, 0014 and 0017.

-- Every acceptance, for good: the key makes acceptance idempotent at any instance.
-- handover: 0 as accepted; handed over, it is 1 surely not sent, 2 perhaps sent to either processor (in doubt),
-- 3 perhaps sent to default and surely not to fallback.
-- owner_epoch: the epoch of the instance that settles it; 0 nobody, anyone may take it; -1 parked for an operator.
CREATE UNLOGGED TABLE IF NOT EXISTS payments (
    correlation_id uuid PRIMARY KEY,
    amount_cents   bigint NOT NULL,
    accepted_at    timestamptz NOT NULL,
    owner_epoch    integer NOT NULL,
    handover       smallint NOT NULL DEFAULT 0,
    parked_reason  text
);

-- An owner's unsettled payments are found by owner and time; the owner's lease says from which time on.
CREATE INDEX IF NOT EXISTS payments_owner ON payments (owner_epoch, accepted_at);

-- What the processors have charged; the key makes a second record impossible, as an id is accepted at one time only.
-- The time comes first so that new rows meet in the same few pages of the index, however large the ledger is.
CREATE UNLOGGED TABLE IF NOT EXISTS settlements (
    correlation_id uuid NOT NULL,
    accepted_at    timestamptz NOT NULL,
    processor      smallint NOT NULL,
    amount_cents   bigint NOT NULL,
    requested_at   timestamptz NOT NULL,
    PRIMARY KEY (accepted_at, correlation_id)
);

-- The partial buckets at the two edges of a summary's window.
CREATE INDEX IF NOT EXISTS settlements_requested_at ON settlements (requested_at);

-- Sums per processor and time bucket, each settlement twice: in a bucket of 5 and in one of 3,600 seconds, so that a
-- summary reads few rows of an old ledger. The writer's epoch is in the key so that two instances never wait for each
-- other's row; the sum is numeric because 92,234 payments of the largest amount would overflow a bigint.
CREATE UNLOGGED TABLE IF NOT EXISTS settlement_totals (
    width_seconds smallint NOT NULL,
    bucket        timestamptz NOT NULL,
    processor     smallint NOT NULL,
    epoch         integer NOT NULL,
    requests      bigint NOT NULL,
    amount_cents  numeric NOT NULL,
    PRIMARY KEY (width_seconds, bucket, processor, epoch)
) WITH (fillfactor = 50);

-- One row per start of an instance. Logged in both profiles: ownership must outlive a crash of the database.
-- low_water_mark: everything that this epoch accepted earlier is settled, so adoption need not search there.
-- refused_until: what was accepted up to then is stored no more; the INSERTs that broke are among it.
-- renewal: the number of the last renewal or adoption; one that comes late must not undo a newer one.
-- closed_at: set by whoever found it expired; from then on it can neither renew nor accept.
-- used_fallback: false only while its owner vouches that it has charged nothing at fallback; never false again.
CREATE TABLE IF NOT EXISTS leases (
    epoch          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    instance       text NOT NULL,
    expires_at     timestamptz NOT NULL,
    low_water_mark timestamptz NOT NULL DEFAULT '-infinity',
    refused_until  timestamptz NOT NULL DEFAULT '-infinity',
    renewal        bigint NOT NULL DEFAULT 0,
    closed_at      timestamptz,
    adopted_at     timestamptz,
    used_fallback  boolean NOT NULL DEFAULT true
);

-- Earlier tables lack them. True by default: of an epoch that does not say so, nobody knows.
ALTER TABLE leases ADD COLUMN IF NOT EXISTS used_fallback boolean NOT NULL DEFAULT true;
ALTER TABLE leases ADD COLUMN IF NOT EXISTS refused_until timestamptz NOT NULL DEFAULT '-infinity';
ALTER TABLE leases ADD COLUMN IF NOT EXISTS renewal bigint NOT NULL DEFAULT 0;

-- What a clean stop released belongs to epoch 0; its row is there to be locked by whoever adopts from it.
INSERT INTO leases (epoch, instance, expires_at, closed_at) OVERRIDING SYSTEM VALUE
VALUES (0, 'nobody', '-infinity', '-infinity') ON CONFLICT DO NOTHING;

-- The processors' health, polled by one instance for all of them.
CREATE TABLE IF NOT EXISTS processor_health (
    processor       smallint PRIMARY KEY,
    failing         boolean NOT NULL DEFAULT false,
    min_response_ms integer NOT NULL DEFAULT 0,
    polled_at       timestamptz NOT NULL DEFAULT '-infinity',
    observed_at     timestamptz NOT NULL DEFAULT '-infinity'
);

INSERT INTO processor_health (processor) VALUES (1), (2) ON CONFLICT DO NOTHING;

-- Which ledger this is: a purge begins a new one. A reset is a crash of the database that emptied it.
CREATE TABLE IF NOT EXISTS ledger (
    id         smallint PRIMARY KEY,
    generation integer NOT NULL DEFAULT 1,
    resets     integer NOT NULL DEFAULT 0,
    reset_at   timestamptz
);

INSERT INTO ledger (id) VALUES (1) ON CONFLICT DO NOTHING;

-- Emptied together with the ledger when the database crashes, so its row missing is how a reset is noticed.
CREATE UNLOGGED TABLE IF NOT EXISTS ledger_intact (
    id smallint PRIMARY KEY
);

INSERT INTO ledger_intact (id) VALUES (1) ON CONFLICT DO NOTHING;
