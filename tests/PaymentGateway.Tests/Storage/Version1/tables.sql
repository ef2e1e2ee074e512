-- What pg_dump --inserts --no-owner wrote of the tables of version 1, as they were before they had a number. Of their 12
-- payments 8 are settled, one of them at fallback; one is parked, one released in doubt, and two are of an epoch that was
-- killed.
CREATE TABLE public.leases (
    epoch integer NOT NULL,
    instance text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    low_water_mark timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    refused_until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    renewal bigint DEFAULT 0 NOT NULL,
    closed_at timestamp with time zone,
    adopted_at timestamp with time zone,
    used_fallback boolean DEFAULT true NOT NULL
);
ALTER TABLE public.leases ALTER COLUMN epoch ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.leases_epoch_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.ledger (
    id smallint NOT NULL,
    generation integer DEFAULT 1 NOT NULL,
    resets integer DEFAULT 0 NOT NULL,
    reset_at timestamp with time zone
);
CREATE UNLOGGED TABLE public.ledger_intact (
    id smallint NOT NULL
);
CREATE UNLOGGED TABLE public.payments (
    correlation_id uuid NOT NULL,
    amount_cents bigint NOT NULL,
    accepted_at timestamp with time zone NOT NULL,
    owner_epoch integer NOT NULL,
    handover smallint DEFAULT 0 NOT NULL,
    parked_reason text
);
CREATE TABLE public.processor_health (
    processor smallint NOT NULL,
    failing boolean DEFAULT false NOT NULL,
    min_response_ms integer DEFAULT 0 NOT NULL,
    polled_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    observed_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL
);
CREATE UNLOGGED TABLE public.settlement_totals (
    width_seconds smallint NOT NULL,
    bucket timestamp with time zone NOT NULL,
    processor smallint NOT NULL,
    epoch integer NOT NULL,
    requests bigint NOT NULL,
    amount_cents numeric NOT NULL
)
WITH (fillfactor='50');
CREATE UNLOGGED TABLE public.settlements (
    correlation_id uuid NOT NULL,
    accepted_at timestamp with time zone NOT NULL,
    processor smallint NOT NULL,
    amount_cents bigint NOT NULL,
    requested_at timestamp with time zone NOT NULL
);
INSERT INTO public.leases OVERRIDING SYSTEM VALUE VALUES (0, 'nobody', '-infinity', '-infinity', '-infinity', 0, '-infinity', NULL, true);
INSERT INTO public.leases OVERRIDING SYSTEM VALUE VALUES (1, '/run/api1.sock@one', '2026-11-20 12:01:00+00', '2026-11-20 12:00:00+00', '-infinity', 61, '2026-11-20 12:01:00+00', '2026-11-20 12:01:05+00', true);
INSERT INTO public.leases OVERRIDING SYSTEM VALUE VALUES (2, '/run/api2.sock@one', '2026-11-20 12:02:00+00', '2026-11-20 12:01:30+00', '-infinity', 121, NULL, NULL, false);
INSERT INTO public.ledger VALUES (1, 3, 0, NULL);
INSERT INTO public.ledger_intact VALUES (1);
INSERT INTO public.payments VALUES ('00000000-0000-4000-8000-000000000001', 1991, '2026-11-20 12:00:10.000001+00', 1, 0, NULL);
INSERT INTO public.payments VALUES ('00000000-0000-4000-8000-000000000002', 1992, '2026-11-20 12:00:20.000002+00', 1, 0, NULL);
INSERT INTO public.payments VALUES ('00000000-0000-4000-8000-000000000003', 1993, '2026-11-20 12:00:30.000003+00', 1, 0, NULL);
INSERT INTO public.payments VALUES ('00000000-0000-4000-8000-000000000004', 1994, '2026-11-20 12:00:40.000004+00', 1, 0, NULL);
INSERT INTO public.payments VALUES ('00000000-0000-4000-8000-000000000007', 1997, '2026-11-20 12:01:10.000007+00', 2, 0, NULL);
INSERT INTO public.payments VALUES ('00000000-0000-4000-8000-000000000008', 1998, '2026-11-20 12:01:20.000008+00', 2, 0, NULL);
INSERT INTO public.payments VALUES ('00000000-0000-4000-8000-000000000009', 1999, '2026-11-20 12:01:30.000009+00', 2, 0, NULL);
INSERT INTO public.payments VALUES ('00000000-0000-4000-8000-000000000010', 2000, '2026-11-20 12:01:40.00001+00', 2, 0, NULL);
INSERT INTO public.payments VALUES ('00000000-0000-4000-8000-000000000011', 2001, '2026-11-20 12:01:50.000011+00', 2, 0, NULL);
INSERT INTO public.payments VALUES ('00000000-0000-4000-8000-000000000012', 2002, '2026-11-20 12:02:00.000012+00', 2, 0, NULL);
INSERT INTO public.payments VALUES ('00000000-0000-4000-8000-000000000005', 1995, '2026-11-20 12:00:50.000005+00', -1, 0, 'Default answered 400');
INSERT INTO public.payments VALUES ('00000000-0000-4000-8000-000000000006', 1996, '2026-11-20 12:01:00.000006+00', 0, 3, NULL);
INSERT INTO public.processor_health VALUES (1, false, 0, '-infinity', '-infinity');
INSERT INTO public.processor_health VALUES (2, false, 0, '-infinity', '-infinity');
INSERT INTO public.settlement_totals VALUES (5, '2026-11-20 12:00:10+00', 1, 1, 1, 1991);
INSERT INTO public.settlement_totals VALUES (5, '2026-11-20 12:01:10+00', 1, 1, 1, 1997);
INSERT INTO public.settlement_totals VALUES (3600, '2026-11-20 12:00:00+00', 2, 1, 1, 1993);
INSERT INTO public.settlement_totals VALUES (5, '2026-11-20 12:01:30+00', 1, 1, 1, 1999);
INSERT INTO public.settlement_totals VALUES (5, '2026-11-20 12:00:20+00', 1, 1, 1, 1992);
INSERT INTO public.settlement_totals VALUES (5, '2026-11-20 12:01:40+00', 1, 1, 1, 2000);
INSERT INTO public.settlement_totals VALUES (3600, '2026-11-20 12:00:00+00', 1, 1, 7, 13971);
INSERT INTO public.settlement_totals VALUES (5, '2026-11-20 12:00:40+00', 1, 1, 1, 1994);
INSERT INTO public.settlement_totals VALUES (5, '2026-11-20 12:00:30+00', 2, 1, 1, 1993);
INSERT INTO public.settlement_totals VALUES (5, '2026-11-20 12:01:20+00', 1, 1, 1, 1998);
INSERT INTO public.settlements VALUES ('00000000-0000-4000-8000-000000000001', '2026-11-20 12:00:10.000001+00', 1, 1991, '2026-11-20 12:00:10.005124+00');
INSERT INTO public.settlements VALUES ('00000000-0000-4000-8000-000000000002', '2026-11-20 12:00:20.000002+00', 1, 1992, '2026-11-20 12:00:20.005125+00');
INSERT INTO public.settlements VALUES ('00000000-0000-4000-8000-000000000003', '2026-11-20 12:00:30.000003+00', 2, 1993, '2026-11-20 12:00:30.005126+00');
INSERT INTO public.settlements VALUES ('00000000-0000-4000-8000-000000000004', '2026-11-20 12:00:40.000004+00', 1, 1994, '2026-11-20 12:00:40.005127+00');
INSERT INTO public.settlements VALUES ('00000000-0000-4000-8000-000000000007', '2026-11-20 12:01:10.000007+00', 1, 1997, '2026-11-20 12:01:10.00513+00');
INSERT INTO public.settlements VALUES ('00000000-0000-4000-8000-000000000008', '2026-11-20 12:01:20.000008+00', 1, 1998, '2026-11-20 12:01:20.005131+00');
INSERT INTO public.settlements VALUES ('00000000-0000-4000-8000-000000000009', '2026-11-20 12:01:30.000009+00', 1, 1999, '2026-11-20 12:01:30.005132+00');
INSERT INTO public.settlements VALUES ('00000000-0000-4000-8000-000000000010', '2026-11-20 12:01:40.00001+00', 1, 2000, '2026-11-20 12:01:40.005133+00');
SELECT pg_catalog.setval('public.leases_epoch_seq', 2, true);
ALTER TABLE ONLY public.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (epoch);
ALTER TABLE ONLY public.ledger_intact
    ADD CONSTRAINT ledger_intact_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.ledger
    ADD CONSTRAINT ledger_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.payments
    ADD CONSTRAINT payments_pkey PRIMARY KEY (correlation_id);
ALTER TABLE ONLY public.processor_health
    ADD CONSTRAINT processor_health_pkey PRIMARY KEY (processor);
ALTER TABLE ONLY public.settlement_totals
    ADD CONSTRAINT settlement_totals_pkey PRIMARY KEY (width_seconds, bucket, processor, epoch);
ALTER TABLE ONLY public.settlements
    ADD CONSTRAINT settlements_pkey PRIMARY KEY (accepted_at, correlation_id);
CREATE INDEX payments_owner ON public.payments USING btree (owner_epoch, accepted_at);
CREATE INDEX settlements_requested_at ON public.settlements USING btree (requested_at);
