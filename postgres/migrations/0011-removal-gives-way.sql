-- A removal deletes in no order, so it can deadlock with an adoption of payments that were settled a moment ago. The
-- removal gives up first, because nobody waits for it.
ALTER FUNCTION remove_old_payments(timestamptz, interval, int) SET lock_timeout = '20ms';
