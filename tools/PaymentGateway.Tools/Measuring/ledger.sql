-- A ledger as a gateway has it after :rows payments at :rate a second: settled, owned by an epoch that is over, the
-- last one a minute ago; one in ten at the fallback. Indexes are made after the rows, with memory for that.
SET maintenance_work_mem = '512MB';
SET work_mem = '64MB';

INSERT INTO leases (instance, expires_at, low_water_mark, closed_at, adopted_at)
VALUES ('filled', now(), now(), now(), now());

ALTER TABLE payments DROP CONSTRAINT payments_pkey;
ALTER TABLE settlements DROP CONSTRAINT settlements_pkey;
DROP INDEX payments_owner, settlements_requested_at;

INSERT INTO payments (correlation_id, amount_cents, accepted_at, owner_epoch)
SELECT gen_random_uuid(), 1990, now() - interval '1 minute' - (:rows - number) * interval '1 second' / :rate, 1
FROM generate_series(1, :rows) AS number;

INSERT INTO settlements (correlation_id, accepted_at, processor, amount_cents, requested_at)
SELECT correlation_id, accepted_at, CASE WHEN get_byte(uuid_send(correlation_id), 14) % 10 = 0 THEN 2 ELSE 1 END,
       amount_cents, accepted_at + interval '5 milliseconds'
FROM payments;

INSERT INTO settlement_totals (width_seconds, bucket, processor, epoch, requests, amount_cents)
SELECT 5, date_bin('5 seconds', requested_at, 'epoch'), processor, get_byte(uuid_send(correlation_id), 15) % 2,
       count(*), sum(amount_cents)
FROM settlements GROUP BY 2, 3, 4;

INSERT INTO settlement_totals (width_seconds, bucket, processor, epoch, requests, amount_cents)
SELECT 3600, date_bin('1 hour', bucket, 'epoch'), processor, epoch, sum(requests), sum(amount_cents)
FROM settlement_totals GROUP BY 2, 3, 4;

ALTER TABLE payments ADD CONSTRAINT payments_pkey PRIMARY KEY (correlation_id);
ALTER TABLE settlements ADD CONSTRAINT settlements_pkey PRIMARY KEY (accepted_at, correlation_id);
CREATE INDEX payments_owner ON payments (owner_epoch, accepted_at);
CREATE INDEX settlements_requested_at ON settlements (requested_at);

-- As autovacuum would have left them; else it would come in the middle of the measurement.
VACUUM (FREEZE, ANALYZE) payments;
VACUUM (FREEZE, ANALYZE) settlements;
VACUUM (FREEZE, ANALYZE) settlement_totals;
