-- For the page /ops alone: nothing decides by these. Each renewal writes them; null while an earlier version renews.
-- reading: how the instance does, as JSON that only the page reads.
-- watching and instance_readings stay for version 4, which may run beside this one; a later version drops them.
ALTER TABLE leases ADD COLUMN IF NOT EXISTS reading text;

ALTER TABLE leases ADD COLUMN IF NOT EXISTS read_at timestamptz;
