-- The word of a processor that it has a payment. held_by: the processor that answered a charge of it by 422, so that
-- whoever owns the payment looks it up there, and charges it nowhere any more; null where none did.
ALTER TABLE payments ADD COLUMN IF NOT EXISTS held_by smallint;
