/* The protocol of leases, marks, doubts and adoption (docs/decisions 0004, 0006, 0008, 0011), searched completely by
 * `make model`. Each step names the C# type, and the SQL statement, that it stands for.
 *
 * Time has no number here. A step that waits for a time is possible as soon as what the time stands for holds: a
 * horizon is over when no charge of the payment is in transit to a processor where it may be, and no other holder of a
 * lease has it in memory. Clocks that jump, freezes and slow networks are all other orders of the steps. Every step
 * changes something and FAULTS bounds what goes wrong, so every run ends; then all that is stored must be settled (the
 * process `end`).
 *
 * Look-ups may be answered by 404 whatever is stored: those of all payments at once (an ingress without its route), or
 * those of a payment that its processor has said by a 422 that it has (a replica that lags). A known payment is found
 * unless all are answered so.
 *
 * Not in the model: a freeze between the lease's check and the first byte of a charge, a database that loses commits
 * (failover.pml).
 */
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef BREAK
#define BREAK 0
#endif
#ifndef PROCESSORS
#define PROCESSORS 3
#endif
#ifndef ACCEPTED_PAYMENTS
#define ACCEPTED_PAYMENTS PAYMENTS
#endif
#define INSTANCES 2
#define PAYMENTS 2
#define EPOCHS (INSTANCES + FAULTS) /* Each fault ends one epoch at most. */
#define EPOCHS_MAX 6
#define NONE 255

/* Processors, also in settlements: 1 is the cheapest. A ProcessorSet has a bit for each. */
#define CHEAPEST 1
#define SET(processor) (1 << (processor))
#define HAS(set, processor) ((set) & SET(processor))

/* Owners: the one of a released row. mayBeAt is the set where earlier owners may have charged it. */
#define NOBODY 0
#define AS_ACCEPTED 1 /* NULL in the database; no set has this bit. */
#define UNSENT 0

/* A payment in the memory of an instance: PaymentQueue, DoubtQueue (the set), UnwrittenOutcomes (and the processor). */
#define ABSENT 0
#define QUEUED 1
#define OUTCOME 16
#define IS_DOUBT(m) ((m) > QUEUED && (m) < OUTCOME)

/* A lease in the database. */
#define UNUSED 0
#define OPEN 1
#define CLOSED 2
#define ADOPTED 3

/* PostgreSQL. Times of acceptance are numbers: the order in which payments were taken. */
byte owner[PAYMENTS] = NONE;
byte mayBeAt[PAYMENTS];
byte acceptedAt[PAYMENTS];
byte settled[PAYMENTS];
byte heldBy[PAYMENTS];
bool purged[PAYMENTS];
bool rolledBack[PAYMENTS];
byte lease[EPOCHS_MAX + 1];
byte used[EPOCHS_MAX + 1];
byte lowWater[EPOCHS_MAX + 1];
byte epochs;
byte now;

/* Instances; two dimensions are written as one: [instance * PAYMENTS + payment]. */
bool up[INSTANCES] = true;
byte epoch[INSTANCES];
bool held[INSTANCES];
byte marked[INSTANCES];
byte memory[INSTANCES * PAYMENTS];
byte call[INSTANCES * PAYMENTS];
byte inserting[INSTANCES * PAYMENTS];
bool committed[INSTANCES * PAYMENTS];
bool pastHorizon[INSTANCES * PAYMENTS];
bool isHeld[INSTANCES * PAYMENTS]; /* Payment.HeldBy, the one of its set. */
bool renewing[INSTANCES];
bool renewalIsOld[INSTANCES];
byte renewalMarks[INSTANCES];
byte renewalMark[INSTANCES];

/* Processors, and charges that nobody waits for any more: [processor * PAYMENTS + payment]. */
bool stored[4 * PAYMENTS];
byte lost[4 * PAYMENTS];
bool masked; /* Look-ups of all payments are answered by 404. */
byte lagging[PAYMENTS]; /* 1: those of this one are; 2: they were. */

bool acknowledged[PAYMENTS];
byte faults = FAULTS;
bool dearerAsked; /* Some instance has asked for the mark of 2. */

#define AT(i, p) ((i) * PAYMENTS + (p))
#define OTHER(i) (1 - (i))
#define HAS_ROW(p) (owner[p] != NONE && !purged[p])
#define HANDED_OVER(p) (mayBeAt[p] == AS_ACCEPTED -> UNSENT : mayBeAt[p])
#define UNSETTLED(p) (HAS_ROW(p) && settled[p] == 0)

/* Processors of a set at which a payment is stored, and at which a charge of it is in transit. */
#define AMONG(set, what, p) (HAS(set, 1) && what[AT(1, p)] || HAS(set, 2) && what[AT(2, p)] || \
    HAS(set, 3) && what[AT(3, p)])

/* InDoubtHorizon, and LeaseDuration before it for what was adopted (AdoptedPayments.Add). */
#define HORIZON_OVER(i, p) (BREAK == 1 || !AMONG(memory[AT(i, p)], lost, p) \
    && call[AT(OTHER(i), p)] == 0 && !(held[OTHER(i)] && KEEPS(OTHER(i), p)))

/* DoubtResolver: who looks up, and where a payment was looked up before it is free. */
#define MAY_LOOK_UP(i, p) (up[i] && held[i] && call[AT(i, p)] == 0 && IS_DOUBT(memory[AT(i, p)]))
#define LOOKED_UP(m) (BREAK == 10 -> (m) & -(m) : (m))
#define IS_FOUND(m, p) (!masked && lagging[p] != 1 && AMONG(m, stored, p))
/* KnownPayments.ProveAbsenceAsync; after a 422 no 404 counts. */
#define IS_PROVEN(i, p) (pastHorizon[AT(i, p)] && (!masked || BREAK == 16) && (!isHeld[AT(i, p)] || BREAK == 15))
#define IS_ABSENT(i, p, processor) (HAS(LOOKED_UP(memory[AT(i, p)]), processor) && IS_PROVEN(i, p) && \
    !IS_FOUND(SET(processor), p))

/* Lease.IsHeld and Lease.Owns, in ChargeContent immediately before the first byte. */
#define MAY_SEND(i) (up[i] && (held[i] && epoch[i] != NOBODY || BREAK == 4))

/* The end of a call that nobody waits for: it may be stored later, or never. */
inline abandon(i, p) {
  if
  :: call[AT(i, p)] != 0 -> lost[AT(call[AT(i, p)], p)]++; call[AT(i, p)] = 0
  :: else
  fi
}

/* InstanceEpochs.GiveUp and the end of a process: others adopt what was in memory. */
inline forget(i, p, keepsOutcomes) {
  abandon(i, p);
  pastHorizon[AT(i, p)] = false; isHeld[AT(i, p)] = false;
  if
  :: keepsOutcomes && memory[AT(i, p)] > OUTCOME
  :: else -> memory[AT(i, p)] = ABSENT
  fi
}

/* A processor of the set is out of the doubt. */
inline removeFrom(i, p, processor) {
  if
  :: memory[AT(i, p)] == SET(processor) || BREAK == 10 -> /* Requeue. */
    memory[AT(i, p)] = QUEUED; pastHorizon[AT(i, p)] = false; isHeld[AT(i, p)] = false
  :: else -> memory[AT(i, p)] = memory[AT(i, p)] - SET(processor)
  fi
}

/* An owner that has not the payment in doubt, or knows of the 422: one that adopted before it came does not. */
#define KNOWS(i, p) (!IS_DOUBT(memory[AT(i, p)]) && memory[AT(i, p)] != QUEUED || isHeld[AT(i, p)])
#define ONE_OF(m) (HAS(m, 1) -> 1 : (HAS(m, 2) -> 2 : 3))

inline storeAt(processor, p) {
  stored[AT(processor, p)] = true;
  assert(stored[AT(1, p)] + stored[AT(2, p)] + stored[AT(3, p)] == 1)
}

/* LowWaterMark.Read: the oldest that this instance has not settled; else what comes next. */
#define KEEPS(i, p) (inserting[AT(i, p)] != 0 || memory[AT(i, p)] != ABSENT)
#define LEAST(a, b) (a < b -> a : b)
#define LOW_WATER(i) (KEEPS(i, 0) && KEEPS(i, 1) -> LEAST(acceptedAt[0], acceptedAt[1]) : \
    (KEEPS(i, 0) -> acceptedAt[0] : (KEEPS(i, 1) -> acceptedAt[1] : now)))

/* Leases that RenewalSql closes because they have expired, and closed ones that MarkAdoptedSql ends. EarlierWriters: no
 * INSERT of the epoch runs any more. */
#define IS_EXPIRED(i, e) (lease[e] == OPEN && epoch[0] != e && epoch[1] != e)
#define OWNS_NOTHING(e) (!(UNSETTLED(0) && owner[0] == e) && !(UNSETTLED(1) && owner[1] == e))
#define IS_SEARCHED(i, e) (lease[e] == CLOSED && OWNS_NOTHING(e) && (BREAK == 5 \
    || inserting[0] != e && inserting[1] != e && inserting[2] != e && inserting[3] != e))
#define ANY(is, i) (is(i, 1) || is(i, 2) || is(i, 3) || is(i, 4) || is(i, 5) || is(i, 6))

/* Begins an epoch: LeaseStore.OpenSql. */
inline open(i) {
  epochs++;
  lease[epochs] = OPEN;
  lowWater[epochs] = now;
  epoch[i] = epochs;
  held[i] = true;
  marked[i] = SET(CHEAPEST)
}

/* LeaseStore.RenewalSql, sent before and run now; the crash of its instance does not stop it. */
inline renew(i) {
  if
  :: lease[epoch[i]] == OPEN && (!renewalIsOld[i] || BREAK == 6) ->
    lowWater[epoch[i]] = renewalMark[i];
    held[i] = true;
    used[epoch[i]] = used[epoch[i]] | renewalMarks[i];
    marked[i] = marked[i] | renewalMarks[i]
  :: lease[epoch[i]] == OPEN && renewalIsOld[i] && BREAK != 6 -> skip
  :: else -> /* InstanceEpochs.GiveUp */
    held[i] = false; marked[i] = 0; epoch[i] = NOBODY;
    for (q : 0 .. PAYMENTS - 1) { forget(i, q, true) }
    q = 0
  fi;
  renewing[i] = false; renewalIsOld[i] = false; renewalMarks[i] = 0; renewalMark[i] = 0
}

/* LeaseStore.AdoptSql for one payment, and AdoptedPayments.Add. */
inline adopt(i, p) {
  if
  :: owner[p] == NOBODY /* Epoch 0 has used no processor. */
  :: else -> mayBeAt[p] = HANDED_OVER(p) | SET(CHEAPEST) | used[owner[p]] /* leases.used_processors */
  fi;
  owner[p] = epoch[i];
  lowWater[epoch[i]] = (acceptedAt[p] < lowWater[epoch[i]] && BREAK != 7 -> acceptedAt[p] : lowWater[epoch[i]]);
  renewalIsOld[i] = renewing[i];
  if
  :: memory[AT(i, p)] > OUTCOME /* Its outcome is known here and will be written. */
  :: else ->
    pastHorizon[AT(i, p)] = false;
    if
    :: heldBy[p] != 0 && BREAK != 17 -> memory[AT(i, p)] = SET(heldBy[p]); isHeld[AT(i, p)] = true
    :: else ->
      if
      :: mayBeAt[p] == UNSENT || BREAK == 3 -> memory[AT(i, p)] = QUEUED
      :: mayBeAt[p] != UNSENT && BREAK != 3 -> memory[AT(i, p)] = mayBeAt[p]
      fi
    fi
  fi
}

/* LeaseKeeper.StopAsync: LeaseStore.ReleaseSql, then LeaseStore.CloseSql. */
inline release(i) {
  for (q : 0 .. PAYMENTS - 1) {
    if
    :: UNSETTLED(q) && owner[q] == epoch[i] && acceptedAt[q] >= lowWater[epoch[i]] ->
      if
      :: memory[AT(i, q)] == QUEUED && call[AT(i, q)] == 0 || memory[AT(i, q)] == ABSENT || BREAK == 12 ->
        mayBeAt[q] = HANDED_OVER(q)
      :: else -> mayBeAt[q] = HANDED_OVER(q) | SET(CHEAPEST) | used[epoch[i]]
      fi;
      heldBy[q] = (isHeld[AT(i, q)] -> ONE_OF(memory[AT(i, q)]) : heldBy[q]);
      owner[q] = NOBODY
    :: else
    fi;
    forget(i, q, false)
  }
  q = 0;
  lease[epoch[i]] = CLOSED;
  up[i] = false; held[i] = false; marked[i] = 0; epoch[i] = NOBODY;
  renewing[i] = false; renewalIsOld[i] = false; renewalMarks[i] = 0; renewalMark[i] = 0
}

#define WANTS(i, processor) (up[i] && epoch[i] != NOBODY && !renewing[i] && !HAS(marked[i], processor) && \
    (memory[AT(i, 0)] == QUEUED || memory[AT(i, 1)] == QUEUED))

/* Lease.MayUse: the mark of this processor is committed. */
#define MAY_USE(i, processor) (HAS(marked[i], processor) || (processor) != CHEAPEST && (processor) <= PROCESSORS && \
    (BREAK == 2 || BREAK == 13 && marked[i] > SET(CHEAPEST)))

/* SettlementWorker; DoubtResolver.ChargeAgainAsync sends again where a payment is in doubt, if that is one place. */
#define MAY_CHARGE(i, p, processor) (MAY_SEND(i) && call[AT(i, p)] == 0 && \
    (memory[AT(i, p)] == QUEUED && MAY_USE(i, processor) || \
    memory[AT(i, p)] == SET(processor) && !isHeld[AT(i, p)] || \
    BREAK == 14 && IS_DOUBT(memory[AT(i, p)]) && HAS(memory[AT(i, p)], processor)))

/* What instance i may do next, by itself. */
proctype instance(byte i) {
  byte q, e;
  do
  :: atomic { !up[i] -> up[i] = true } /* Restarted. */
  /* The two instances, and the two payments, are alike: only one order of each is searched. */
  :: atomic { up[i] && epoch[i] == NOBODY && !renewing[i] && epochs < EPOCHS && (epochs > 0 || i == 0) -> open(i) }
  /* InstanceEpochs.RenewAsync, its first half; Lease.Wanted by Lease.MayUse. */
  :: atomic { up[i] && epoch[i] != NOBODY && !renewing[i] &&
       (lease[epoch[i]] != OPEN || !held[i] || LOW_WATER(i) != lowWater[epoch[i]]) ->
       renewing[i] = true; renewalMark[i] = LOW_WATER(i) }
  :: atomic { WANTS(i, 2) -> dearerAsked = true;
       renewing[i] = true; renewalMark[i] = LOW_WATER(i); renewalMarks[i] = SET(2) }
  /* The dearer processors are alike: the one that is used first is called 2. */
  :: atomic { PROCESSORS > 2 && dearerAsked && WANTS(i, 3) ->
       renewing[i] = true; renewalMark[i] = LOW_WATER(i); renewalMarks[i] = SET(3) }
  :: atomic { renewing[i] -> renew(i) }
  /* With a living owner a clock has jumped, or the owner was too slow. */
  :: atomic { up[i] && held[i] && lease[epoch[i]] == OPEN && ANY(IS_EXPIRED, i) ->
       for (e : 1 .. EPOCHS) {
         if
         :: IS_EXPIRED(i, e) -> lease[e] = CLOSED
         :: else
         fi
       }
       e = 0 }
  :: atomic { up[i] && held[i] && lease[epoch[i]] == OPEN && faults > 0 && epoch[OTHER(i)] != NOBODY &&
       lease[epoch[OTHER(i)]] == OPEN -> faults--; lease[epoch[OTHER(i)]] = CLOSED }
  :: atomic { held[i] && faults > 0 -> faults--; held[i] = false } /* By its own clock, of a freeze say. */
  /* Ends without a word. What PostgreSQL already runs for it goes on. */
  :: atomic { up[i] && faults > 0 && !renewing[i] -> faults--;
       up[i] = false; held[i] = false; marked[i] = 0; epoch[i] = NOBODY;
       for (q : 0 .. PAYMENTS - 1) { forget(i, q, false) }
       q = 0 }
  :: atomic { up[i] && epoch[i] != NOBODY && faults > 0 && inserting[AT(i, 0)] == 0 && inserting[AT(i, 1)] == 0 ->
       faults--; release(i) }
  :: atomic { up[i] && held[i] && lease[epoch[i]] == OPEN && ANY(IS_SEARCHED, i) ->
       for (e : 1 .. EPOCHS) {
         if
         :: IS_SEARCHED(i, e) -> lease[e] = ADOPTED
         :: else
         fi
       }
       e = 0 }
  /* LedgerStateStore.PurgeSql; its lock waits for every INSERT. The other instance still has what it had in memory. */
  :: atomic { up[i] && held[i] && lease[epoch[i]] == OPEN && faults > 0 && inserting[0] + inserting[1] == 0 &&
       inserting[2] + inserting[3] == 0 && (HAS_ROW(0) || HAS_ROW(1)) -> faults--;
       for (q : 0 .. PAYMENTS - 1) {
         if
         :: HAS_ROW(q) -> purged[q] = true; settled[q] = 0; forget(i, q, false)
         :: else
         fi
       }
       q = 0 }
  od
}

/* What may happen to payment p at instance i. */
proctype payment(byte i; byte p) {
  byte processor;
  do
  /* Intake and IntakeWriter: PaymentStore.StoreSql sees the epoch open when it begins. */
  :: atomic { up[i] && epoch[i] != NOBODY && owner[p] == NONE && inserting[AT(0, p)] == 0 && inserting[AT(1, p)] == 0 &&
       (lease[epoch[i]] == OPEN || BREAK == 11) && !rolledBack[p] && now == p && p < ACCEPTED_PAYMENTS ->
       inserting[AT(i, p)] = epoch[i]; acceptedAt[p] = now; now++;
       acknowledged[p] = (BREAK == 8) }
  :: atomic { inserting[AT(i, p)] != 0 && !committed[AT(i, p)] -> owner[p] = inserting[AT(i, p)];
       mayBeAt[p] = AS_ACCEPTED; committed[AT(i, p)] = true }
  :: atomic { inserting[AT(i, p)] != 0 && !committed[AT(i, p)] && !up[i] -> /* Rolled back with its connection. */
       inserting[AT(i, p)] = 0; rolledBack[p] = true }
  :: atomic { committed[AT(i, p)] ->
       if
       :: up[i] ->
         acknowledged[p] = true;
         if
         :: epoch[i] == inserting[AT(i, p)] -> memory[AT(i, p)] = QUEUED
         :: else
         fi
       :: else
       fi;
       committed[AT(i, p)] = false; inserting[AT(i, p)] = 0 }
  :: atomic { MAY_CHARGE(i, p, 1) -> call[AT(i, p)] = 1 }
  :: atomic { MAY_CHARGE(i, p, 2) -> call[AT(i, p)] = 2 }
  :: atomic { MAY_CHARGE(i, p, 3) -> call[AT(i, p)] = 3 }
  /* Answered by 200; and by 422, which OwnedPayments.HoldAsync stores. */
  :: atomic { call[AT(i, p)] != 0 && !stored[AT(call[AT(i, p)], p)] -> processor = call[AT(i, p)];
       storeAt(processor, p); call[AT(i, p)] = 0;
       memory[AT(i, p)] = OUTCOME + processor; pastHorizon[AT(i, p)] = false; processor = 0 }
  :: atomic { call[AT(i, p)] != 0 && stored[AT(call[AT(i, p)], p)] -> memory[AT(i, p)] = SET(call[AT(i, p)]);
       isHeld[AT(i, p)] = true; call[AT(i, p)] = 0; pastHorizon[AT(i, p)] = false }
  :: atomic { up[i] && isHeld[AT(i, p)] && HAS_ROW(p) && heldBy[p] == 0 -> heldBy[p] = ONE_OF(memory[AT(i, p)]) }
  /* Refused cleanly: 500 without a body, 429, no connection. */
  :: atomic { call[AT(i, p)] != 0 && faults > 0 -> faults--; call[AT(i, p)] = 0 }
  /* Not answered: it may be stored at any time until the horizon, or never. */
  :: atomic { call[AT(i, p)] != 0 && faults > 0 -> faults--; processor = call[AT(i, p)]; abandon(i, p);
       pastHorizon[AT(i, p)] = false;
       if
       :: memory[AT(i, p)] == QUEUED && BREAK != 9 ->
         memory[AT(i, p)] = SET(processor)
       :: else
       fi;
       processor = 0 }
  /* DoubtResolver: the horizon is read before the look-ups are sent. */
  :: atomic { MAY_LOOK_UP(i, p) && !pastHorizon[AT(i, p)] && HORIZON_OVER(i, p) -> pastHorizon[AT(i, p)] = true }
  :: atomic { MAY_LOOK_UP(i, p) && IS_FOUND(memory[AT(i, p)], p) -> pastHorizon[AT(i, p)] = false;
       isHeld[AT(i, p)] = false;
       memory[AT(i, p)] = OUTCOME + (stored[AT(1, p)] -> 1 : (stored[AT(2, p)] -> 2 : 3)) }
  :: atomic { MAY_LOOK_UP(i, p) && IS_ABSENT(i, p, 1) -> removeFrom(i, p, 1) }
  :: atomic { MAY_LOOK_UP(i, p) && IS_ABSENT(i, p, 2) -> removeFrom(i, p, 2) }
  :: atomic { MAY_LOOK_UP(i, p) && IS_ABSENT(i, p, 3) -> removeFrom(i, p, 3) }
  /* OutcomeWriter: SettlementLedger.RecordSql, whatever became of the lease. */
  :: atomic { up[i] && memory[AT(i, p)] > OUTCOME -> processor = memory[AT(i, p)] - OUTCOME;
       assert(stored[AT(processor, p)]);
       assert(settled[p] == 0 || settled[p] == processor);
       if
       :: HAS_ROW(p) -> settled[p] = processor
       :: else
       fi;
       memory[AT(i, p)] = ABSENT; processor = 0 }
  /* LeaseStore.AdoptPageAsync. */
  :: atomic { up[i] && held[i] && epoch[i] != NOBODY && lease[epoch[i]] == OPEN && UNSETTLED(p) &&
       owner[p] != epoch[i] &&
       (owner[p] == NOBODY || lease[owner[p]] == CLOSED && acceptedAt[p] >= lowWater[owner[p]]) &&
       call[AT(i, p)] == 0 -> adopt(i, p) }
  od
}

/* Calls that nobody waits for, and what stands before a processor. */
proctype network(byte p) {
  do
  :: atomic { p == 0 && faults > 0 && !masked -> faults--; masked = true }
  :: atomic { p == 0 && masked -> masked = false }
  :: atomic { heldBy[p] != 0 && lagging[p] == 0 && KNOWS(0, p) && KNOWS(1, p) -> lagging[p] = 1 }
  :: atomic { lagging[p] == 1 -> lagging[p] = 2 }
  :: atomic { lost[AT(1, p)] > 0 -> lost[AT(1, p)]--; storeAt(1, p) }
  :: atomic { lost[AT(1, p)] > 0 -> lost[AT(1, p)]-- }
  :: atomic { lost[AT(2, p)] > 0 -> lost[AT(2, p)]--; storeAt(2, p) }
  :: atomic { lost[AT(2, p)] > 0 -> lost[AT(2, p)]-- }
  :: atomic { lost[AT(3, p)] > 0 -> lost[AT(3, p)]--; storeAt(3, p) }
  :: atomic { lost[AT(3, p)] > 0 -> lost[AT(3, p)]-- }
  od
}

/* Nothing can happen any more. */
proctype end() {
  timeout ->
  assert(!acknowledged[0] || purged[0] || settled[0] != 0);
  assert(!acknowledged[1] || purged[1] || settled[1] != 0);
  assert(!UNSETTLED(0) && !UNSETTLED(1))
}

init {
  atomic {
    run instance(0); run instance(1);
    run payment(0, 0); run payment(0, 1); run payment(1, 0); run payment(1, 1);
    run network(0); run network(1);
    run end()
  }
}
