-- Transactions whose rows of payments may become visible later; who prepared one may be gone. postgres/citus.sql
-- replaces it. The name is looked up at each use, otherwise the table could not be dropped beside the view.
CREATE OR REPLACE VIEW unfinished_writers AS
    SELECT CASE WHEN pid IS NULL THEN 'prepared ' ELSE '' END || virtualtransaction AS writer FROM pg_locks
    WHERE relation = to_regclass('payments') AND mode = 'RowExclusiveLock'
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
