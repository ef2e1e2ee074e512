-- The endpoints that events are delivered to (docs/decisions/0032-webhooks.md). Logged in both profiles: positions
-- outlive a crash.
-- position: where its events have been delivered up to; null where none has yet, empty where it begins with the oldest.
-- holder: the instance that delivers; due_at: from then on any may take it, because a delivery has ended or failed.
CREATE TABLE IF NOT EXISTS webhooks (
    name          text PRIMARY KEY,
    position      text,
    holder        text NOT NULL DEFAULT '',
    due_at        timestamptz NOT NULL DEFAULT '-infinity',
    failures      integer NOT NULL DEFAULT 0,
    failing_since timestamptz,
    failure       text
);
