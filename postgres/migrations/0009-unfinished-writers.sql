-- Transactions whose rows of payments may become visible later; who prepared one may be gone. A prepared one has its
-- transaction id, which outlasts a restart of the server. postgres/citus.sql replaces the view. The table is looked up
-- by name at each use, otherwise it could not be dropped beside the view.
CREATE OR REPLACE VIEW unfinished_writers AS
    SELECT CASE WHEN pid IS NULL
                THEN 'prepared ' || coalesce((SELECT min(transactionid::text) FROM pg_locks AS own
                                              WHERE own.virtualtransaction = locks.virtualtransaction
                                                AND own.pid IS NULL), virtualtransaction)
                ELSE virtualtransaction END AS writer
    FROM pg_locks AS locks
    WHERE relation = to_regclass('payments') AND mode = 'RowExclusiveLock'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
