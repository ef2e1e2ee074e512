-- What operators did. Logged in both profiles, because a crash of the database must not empty it.
-- actor: the name of the token, or anyone where none was needed.
CREATE TABLE IF NOT EXISTS operator_actions (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    acted_at timestamptz NOT NULL DEFAULT now(),
    instance text NOT NULL,
    actor    text NOT NULL,
    action   text NOT NULL,
    target   text NOT NULL,
    outcome  text NOT NULL,
    address  text NOT NULL
);

-- Append-only for whoever may write to it; its owner can take the trigger away.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '% is append-only', TG_TABLE_NAME; END $$;

CREATE OR REPLACE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON operator_actions
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
