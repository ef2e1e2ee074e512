-- For the page /ops alone: nothing decides by these, and nobody writes here while nobody watches.
-- One row: until then somebody watches some instance, and each says once a second how it is doing.
CREATE UNLOGGED TABLE IF NOT EXISTS watching (
    id            smallint PRIMARY KEY,
    watched_until timestamptz NOT NULL
);

-- What an instance said last, as JSON that only the page reads; gone a minute after its end.
CREATE UNLOGGED TABLE IF NOT EXISTS instance_readings (
    epoch    integer PRIMARY KEY,
    instance text NOT NULL,
    reading  text NOT NULL,
    read_at  timestamptz NOT NULL
);
