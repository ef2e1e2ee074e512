-- For Citus, by an operator, once, on the coordinator, after `PaymentGateway migrate` and before the first payment, in
-- the durable profile. docs/scaling.md says what was tried and what was not. Everything that is not named here stays
-- on the coordinator: leases and open epochs, health, totals, operators' actions, the list of versions. Few shards,
-- because many statements ask all of them.
-- Citus calls each trigger unsafe, because one may change other shards. The one of payments looks at its own row.
SELECT create_distributed_table('payments', 'correlation_id', shard_count => 4)
FROM set_config('citus.enable_unsafe_triggers', 'on', true);

SELECT create_distributed_table('settlements', 'correlation_id', colocate_with => 'payments');

SELECT create_distributed_table('doubts', 'correlation_id', colocate_with => 'payments');

SELECT create_distributed_table('payment_events', 'correlation_id', colocate_with => 'payments');

-- Joined with those.
SELECT create_reference_table('processors');

SELECT create_reference_table('payers');

-- A worker that was down shows what it prepared after its recovery. The locks come first: a transaction that ends
-- between the two queries has its name in the second, whose snapshot is newer.
CREATE FUNCTION writers_of_citus() RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN
    RETURN QUERY SELECT CASE WHEN pid IS NULL THEN 'prepared ' ELSE '' END || virtualtransaction FROM pg_locks
        WHERE relation = 'payments'::regclass AND mode = 'RowExclusiveLock'
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database()); RETURN QUERY
    SELECT 'prepared ' || gid FROM pg_dist_transaction; END $$;

CREATE OR REPLACE VIEW unfinished_writers AS SELECT writer FROM writers_of_citus() AS writer;

-- What has committed here may be invisible at a worker until its recovery, which forgets the row of that transaction.
CREATE OR REPLACE FUNCTION oldest_transaction() RETURNS xid8 LANGUAGE sql STABLE AS $$
    SELECT least(xid, (SELECT min(xid - ((xid - xmin::text::bigint) & 4294967295)) FROM pg_dist_transaction
                       WHERE (xid - xmin::text::bigint) & 4294967295 < 2147483648))::text::xid8
    FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xid) AS running $$;

-- At least the shards of a worker.
ALTER SYSTEM SET citus.max_cached_conns_per_worker = 16;

ALTER SYSTEM SET citus.node_connection_timeout = '2s';

-- Until then nobody sees what a worker has prepared.
ALTER SYSTEM SET citus.recover_2pc_interval = '5s';

SELECT pg_reload_conf();

-- The coordinator's limit of a statement does not reach the workers. Citus repeats this there, where the role was
-- created in this database.
ALTER ROLE gateway SET lock_timeout = '300ms';
