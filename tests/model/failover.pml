/* A payment on a primary and its synchronous standby (docs/decisions/0028-failover.md, MultiHost), searched completely
 * by `make model`. The log has a number for each commit, and the standby has all up to one of these. Others see a row
 * when the commit's wait for the standby has ended: because the standby has it, by a cancel, which is a success with a
 * warning, or by a crash. If the standby is promoted, all that it has not is gone.
 *
 * Instances own what they store, and live on: leases and adoption are in payments.pml. The client repeats the payment
 * at any instance until it has its 202. Every step changes something and FAULTS bounds what goes wrong, so every run
 * ends.
 */
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef BREAK
#define BREAK 0
#endif
#define INSTANCES 2

/* PostgreSQL: the numbers of the newest commit, of what the standby has, of the payment's row and of its settlement. */
byte log;
byte standby;
byte row;
byte settlement;
byte owner;
byte settledAt;

/* What an instance has of the payment: nothing, PaymentQueue, or UnwrittenOutcomes (and the processor, 1 or 2). */
#define ABSENT 0
#define QUEUED 1
#define OUTCOME 16
byte memory[INSTANCES];

/* The commit that a statement waits for: the client's, and those of the instances. BROKEN: its connection has. */
#define NONE 0
#define BROKEN 255
#define CLIENT INSTANCES
byte waitsFor[INSTANCES + 1];
bool isOfRow; /* The client's is the one of the payment's row, which nobody sees yet. */

bool stored[3];
bool acknowledged;
byte faults = FAULTS;

#define IS_DONE(who) (waitsFor[who] != NONE && standby >= waitsFor[who])
#define MAY_CANCEL(who) (waitsFor[who] != NONE && waitsFor[who] != BROKEN && faults > 0)

inline commit(who) { log++; waitsFor[who] = log }

inline breakConnections() {
  isOfRow = false;
  for (who : 0 .. CLIENT) { waitsFor[who] = (waitsFor[who] != NONE -> BROKEN : NONE) }
  who = 0
}

/* Intake and PaymentStore.StoreSql at instance i, for a client that repeats what got no 202. */
proctype client() {
  byte i;
  bool isNew;
  do
  :: atomic { !acknowledged && waitsFor[CLIENT] == NONE ->
       if
       :: i = 0
       :: i = 1
       fi;
       isNew = (row == 0);
       if
       :: isNew -> commit(CLIENT); isOfRow = true; row = log; owner = i
       :: !isNew && BREAK != 1 -> commit(CLIENT) /* Found: MultiHost.IsCommitted. */
       :: !isNew && BREAK == 1 -> acknowledged = true
       fi }
  :: atomic { IS_DONE(CLIENT) -> waitsFor[CLIENT] = NONE; isOfRow = false;
       memory[i] = (isNew -> QUEUED : memory[i]);
       if
       :: acknowledged = true
       :: faults > 0 -> faults-- /* The client does not hear it. */
       fi }
  /* Cancelled: MultiHost.RunAsync makes the warning an unknown outcome, which is a 503. */
  :: atomic { MAY_CANCEL(CLIENT) -> faults--; waitsFor[CLIENT] = NONE; isOfRow = false;
       acknowledged = (BREAK == 4);
       memory[i] = (isNew && BREAK == 5 -> QUEUED : memory[i]) }
  :: atomic { waitsFor[CLIENT] == BROKEN -> waitsFor[CLIENT] = NONE }
  od
}

proctype instance(byte i) {
  do
  /* StoredBacklog: what an INSERT of unknown outcome has stored is found, and charged. */
  :: atomic { row != 0 && !isOfRow && owner == i && settlement == 0 && memory[i] == ABSENT && waitsFor[i] == NONE ->
       if
       :: BREAK == 2 -> memory[i] = QUEUED
       :: else -> commit(i)
       fi }
  /* SettlementWorker. The processors are alike: the one that is used first is called 1. */
  :: atomic { memory[i] == QUEUED -> stored[1] = true; memory[i] = OUTCOME + 1 }
  :: atomic { memory[i] == QUEUED && stored[1] -> stored[2] = true; memory[i] = OUTCOME + 2 }
  /* SettlementLedger.RecordSql, which writes the outcome or finds it; a payment that is gone has none. */
  :: atomic { memory[i] > OUTCOME && waitsFor[i] == NONE ->
       if
       :: row == 0 || settlement != 0 && BREAK == 3 -> memory[i] = ABSENT
       :: row != 0 && settlement == 0 -> commit(i); settlement = log; settledAt = memory[i] - OUTCOME
       :: row != 0 && settlement != 0 && BREAK != 3 -> commit(i)
       fi }
  :: atomic { IS_DONE(i) -> waitsFor[i] = NONE; memory[i] = (memory[i] == ABSENT -> QUEUED : ABSENT) }
  :: atomic { MAY_CANCEL(i) -> faults--; waitsFor[i] = NONE;
       memory[i] = (memory[i] > OUTCOME && BREAK == 6 -> ABSENT : memory[i]) }
  :: atomic { waitsFor[i] == BROKEN -> waitsFor[i] = NONE }
  od
}

proctype servers() {
  byte who;
  do
  :: atomic { standby < log -> standby++ }
  :: atomic { faults > 0 -> faults--; breakConnections() } /* A crash of the primary, which starts again. */
  :: atomic { faults > 0 && standby < log -> faults--; breakConnections(); /* The standby is promoted. */
       log = standby;
       row = (row > standby -> 0 : row);
       settlement = (settlement > standby -> 0 : settlement) }
  od
}

/* Nothing can happen any more. */
proctype end() {
  bool isLost, isChargedTwice, isUnrecorded;
  timeout ->
  isLost = (!acknowledged || row == 0);
  isChargedTwice = (stored[1] && stored[2]);
  isUnrecorded = (settlement == 0 || !stored[settledAt]);
  assert(!isLost);
  assert(!isChargedTwice);
  assert(!isUnrecorded)
}

init {
  atomic { run client(); run instance(0); run instance(1); run servers(); run end() }
}
