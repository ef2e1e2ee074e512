-- For the database pg_auto_failover of its monitor: a lost node is given up after 6 s instead of 20 s, and its standby
-- promoted 6 s later instead of 30 s. By then the keeper must have stopped a primary that was cut off, so on each node:
--   pg_autoctl config set --pgdata … timeout.network_partition_timeout 5
--   pg_autoctl reload --pgdata …
ALTER SYSTEM SET pgautofailover.node_considered_unhealthy_timeout = '6s';
ALTER SYSTEM SET pgautofailover.primary_demote_timeout = '6s';
-- Both must see the loss: the keeper's reports are missing, and these checks fail.
ALTER SYSTEM SET pgautofailover.health_check_period = '1s';
ALTER SYSTEM SET pgautofailover.health_check_timeout = '1s';
ALTER SYSTEM SET pgautofailover.health_check_retry_delay = '1s';
ALTER SYSTEM SET pgautofailover.health_check_max_retries = 1;
SELECT pg_reload_conf();
