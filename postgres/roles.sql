-- Two roles for one ledger, made once with psql by a superuser, or by a role with CREATEROLE and CREATEDB; compose does
-- it in the durable profile. `PaymentGateway migrate` has the owner's rights, and instances only read and write rows:
-- who takes one over changes no table.
CREATE ROLE gateway_owner LOGIN;
CREATE ROLE gateway LOGIN;
-- Only a superuser gives things to a role that is not his own.
GRANT gateway_owner TO CURRENT_USER;
CREATE DATABASE gateway OWNER gateway_owner;
-- Everybody might connect, and make temporary tables.
REVOKE ALL ON DATABASE gateway FROM PUBLIC;
GRANT CONNECT ON DATABASE gateway TO gateway;

\connect gateway
-- Before PostgreSQL 15 it is the superuser's, and everybody may make tables there.
ALTER SCHEMA public OWNER TO gateway_owner;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE gateway_owner
    GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON TABLES TO gateway;
