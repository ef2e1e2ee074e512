-- For Citus, by an operator, once, on the coordinator, after `PaymentGateway migrate` and before the first payment, in
-- the durable profile. docs/scaling.md says what was tried and what was not. Everything that is not named here stays
-- on the coordinator: leases, health, totals, operators' actions, the list of versions.
SELECT create_distributed_table('payments', 'correlation_id');

SELECT create_distributed_table('settlements', 'correlation_id', colocate_with => 'payments');

SELECT create_distributed_table('doubts', 'correlation_id', colocate_with => 'payments');
