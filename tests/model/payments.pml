/* The protocol of leases, marks, doubts and adoption (docs/decisions 0004, 0006, 0008, 0011), searched completely by
 * `make model`. Each step names the C# type, and the SQL statement, that it stands for.
 *
 * Time has no number here. A step that waits for a time is possible as soon as what the time stands for holds: a
 * horizon is over when no charge of the payment is in transit and no other holder of a lease has it in memory. Clocks
 * that jump, freezes and slow networks are all other orders of the steps. Every step changes something and FAULTS
 * bounds what goes wrong, so every run ends; then all that is stored must be settled (the process `end`).
 *
 * Not in the model: a freeze between the lease's check and the first byte of a charge, a database that loses commits.
 */
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef BREAK
#define BREAK 0
#endif
#define INSTANCES 2
#define PAYMENTS 2
#define EPOCHS (INSTANCES + FAULTS) /* Each fault ends one epoch at most. */
#define EPOCHS_MAX 6
#define NONE 255

/* PaymentStates: owners and handovers of a row. */
#define NOBODY 0
#define ACCEPTED 0
#define UNSENT 1
#define IN_DOUBT 2
#define IN_DOUBT_AT_DEFAULT 3

/* Processors, also in settlements. */
#define DEFAULT 1
#define FALLBACK 2

/* A payment in the memory of an instance: PaymentQueue, DoubtQueue, UnwrittenOutcomes. */
#define ABSENT 0
#define QUEUED 1
#define DOUBT_DEFAULT 2
#define DOUBT_FALLBACK 3
#define DOUBT_ANYWHERE 4
#define OUTCOME_DEFAULT 5
#define OUTCOME_FALLBACK 6

/* A lease in the database. */
#define UNUSED 0
#define OPEN 1
#define CLOSED 2
#define ADOPTED 3

/* PostgreSQL. Times of acceptance are numbers: the order in which payments were taken. */
byte owner[PAYMENTS] = NONE;
byte handover[PAYMENTS];
byte acceptedAt[PAYMENTS];
byte settled[PAYMENTS];
bool purged[PAYMENTS];
bool rolledBack[PAYMENTS];
byte lease[EPOCHS_MAX + 1];
bool usedFallback[EPOCHS_MAX + 1];
byte lowWater[EPOCHS_MAX + 1];
byte epochs;
byte now;

/* Instances; two dimensions are written as one: [instance * PAYMENTS + payment]. */
bool up[INSTANCES] = true;
byte epoch[INSTANCES];
bool held[INSTANCES];
bool marked[INSTANCES];
byte memory[INSTANCES * PAYMENTS];
byte call[INSTANCES * PAYMENTS];
byte inserting[INSTANCES * PAYMENTS];
bool committed[INSTANCES * PAYMENTS];
bool pastHorizon[INSTANCES * PAYMENTS];
bool renewing[INSTANCES];
bool renewalIsOld[INSTANCES];
bool renewalMarks[INSTANCES];
byte renewalMark[INSTANCES];

/* Processors, and charges that nobody waits for any more: [processor * PAYMENTS + payment]. */
bool stored[3 * PAYMENTS];
byte lost[3 * PAYMENTS];

bool acknowledged[PAYMENTS];
byte faults = FAULTS;

#define AT(i, p) ((i) * PAYMENTS + (p))
#define OTHER(i) (1 - (i))
#define HAS_ROW(p) (owner[p] != NONE && !purged[p])
#define UNSETTLED(p) (HAS_ROW(p) && settled[p] == 0)

/* InDoubtHorizon, and LeaseDuration before it for what was adopted (AdoptedPayments.Add). */
#define HORIZON_OVER(i, p) (BREAK == 1 || lost[AT(DEFAULT, p)] == 0 && lost[AT(FALLBACK, p)] == 0 \
    && call[AT(OTHER(i), p)] == 0 && !(held[OTHER(i)] && KEEPS(OTHER(i), p)))

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
  pastHorizon[AT(i, p)] = false;
  if
  :: keepsOutcomes && memory[AT(i, p)] >= OUTCOME_DEFAULT
  :: else -> memory[AT(i, p)] = ABSENT
  fi
}

inline storeAt(processor, p) {
  stored[AT(processor, p)] = true;
  assert(!(stored[AT(DEFAULT, p)] && stored[AT(FALLBACK, p)]))
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
  marked[i] = false
}

/* LeaseStore.RenewalSql, sent before and run now; the crash of its instance does not stop it. */
inline renew(i) {
  if
  :: lease[epoch[i]] == OPEN && (!renewalIsOld[i] || BREAK == 6) ->
    lowWater[epoch[i]] = renewalMark[i];
    held[i] = true;
    if
    :: renewalMarks[i] -> usedFallback[epoch[i]] = true; marked[i] = true
    :: else
    fi
  :: lease[epoch[i]] == OPEN && renewalIsOld[i] && BREAK != 6 -> skip
  :: else -> /* InstanceEpochs.GiveUp */
    held[i] = false; marked[i] = false; epoch[i] = NOBODY;
    for (q : 0 .. PAYMENTS - 1) { forget(i, q, true) }
    q = 0
  fi;
  renewing[i] = false; renewalIsOld[i] = false; renewalMarks[i] = false; renewalMark[i] = 0
}

/* LeaseStore.AdoptSql for one payment, and AdoptedPayments.Add. */
inline adopt(i, p) {
  if
  :: owner[p] == NOBODY -> handover[p] = (handover[p] > UNSENT -> handover[p] : UNSENT)
  :: else ->
    handover[p] = (handover[p] == IN_DOUBT || usedFallback[owner[p]] -> IN_DOUBT : IN_DOUBT_AT_DEFAULT)
  fi;
  owner[p] = epoch[i];
  lowWater[epoch[i]] = (acceptedAt[p] < lowWater[epoch[i]] && BREAK != 7 -> acceptedAt[p] : lowWater[epoch[i]]);
  renewalIsOld[i] = renewing[i];
  if
  :: memory[AT(i, p)] >= OUTCOME_DEFAULT /* Its outcome is known here and will be written. */
  :: else ->
    pastHorizon[AT(i, p)] = false;
    if
    :: handover[p] == UNSENT || BREAK == 3 -> memory[AT(i, p)] = QUEUED
    :: handover[p] == IN_DOUBT_AT_DEFAULT && BREAK != 3 -> memory[AT(i, p)] = DOUBT_DEFAULT
    :: handover[p] == IN_DOUBT && BREAK != 3 -> memory[AT(i, p)] = DOUBT_ANYWHERE
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
        handover[q] = (handover[q] > UNSENT -> handover[q] : UNSENT)
      :: else ->
        handover[q] = (handover[q] == IN_DOUBT || usedFallback[epoch[i]] -> IN_DOUBT : IN_DOUBT_AT_DEFAULT)
      fi;
      owner[q] = NOBODY
    :: else
    fi;
    forget(i, q, false)
  }
  q = 0;
  lease[epoch[i]] = CLOSED;
  up[i] = false; held[i] = false; marked[i] = false; epoch[i] = NOBODY;
  renewing[i] = false; renewalIsOld[i] = false; renewalMarks[i] = false; renewalMark[i] = 0
}

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
  :: atomic { up[i] && epoch[i] != NOBODY && !renewing[i] && !marked[i] &&
       (memory[AT(i, 0)] == QUEUED || memory[AT(i, 1)] == QUEUED) ->
       renewing[i] = true; renewalMark[i] = LOW_WATER(i); renewalMarks[i] = true }
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
       up[i] = false; held[i] = false; marked[i] = false; epoch[i] = NOBODY;
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
       (lease[epoch[i]] == OPEN || BREAK == 11) && !rolledBack[p] && now == p ->
       inserting[AT(i, p)] = epoch[i]; acceptedAt[p] = now; now++;
       acknowledged[p] = (BREAK == 8) }
  :: atomic { inserting[AT(i, p)] != 0 && !committed[AT(i, p)] -> owner[p] = inserting[AT(i, p)];
       handover[p] = ACCEPTED; committed[AT(i, p)] = true }
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
  /* SettlementWorker; DoubtResolver.ChargeAgainAsync sends again where the payment is in doubt, and nowhere else. */
  :: atomic { MAY_SEND(i) && call[AT(i, p)] == 0 &&
       (memory[AT(i, p)] == QUEUED || memory[AT(i, p)] == DOUBT_DEFAULT) -> call[AT(i, p)] = DEFAULT }
  :: atomic { MAY_SEND(i) && call[AT(i, p)] == 0 &&
       (memory[AT(i, p)] == QUEUED && (marked[i] || BREAK == 2) || memory[AT(i, p)] == DOUBT_FALLBACK) ->
       call[AT(i, p)] = FALLBACK }
  /* Answered: 200, or 422 and the look-up after it. */
  :: atomic { call[AT(i, p)] != 0 -> processor = call[AT(i, p)]; storeAt(processor, p); call[AT(i, p)] = 0;
       memory[AT(i, p)] = (processor == DEFAULT -> OUTCOME_DEFAULT : OUTCOME_FALLBACK);
       pastHorizon[AT(i, p)] = false; processor = 0 }
  /* Refused cleanly: 500 without a body, 429, no connection. */
  :: atomic { call[AT(i, p)] != 0 && faults > 0 -> faults--; call[AT(i, p)] = 0 }
  /* Not answered: it may be stored at any time until the horizon, or never. */
  :: atomic { call[AT(i, p)] != 0 && faults > 0 -> faults--; processor = call[AT(i, p)]; abandon(i, p);
       pastHorizon[AT(i, p)] = false;
       if
       :: memory[AT(i, p)] == QUEUED && BREAK != 9 ->
         memory[AT(i, p)] = (processor == DEFAULT -> DOUBT_DEFAULT : DOUBT_FALLBACK)
       :: else
       fi;
       processor = 0 }
  /* DoubtResolver: the horizon is read before the look-up is sent. */
  :: atomic { up[i] && held[i] && call[AT(i, p)] == 0 && !pastHorizon[AT(i, p)] &&
       memory[AT(i, p)] >= DOUBT_DEFAULT && memory[AT(i, p)] <= DOUBT_ANYWHERE && HORIZON_OVER(i, p) ->
       pastHorizon[AT(i, p)] = true }
  :: atomic { up[i] && held[i] && call[AT(i, p)] == 0 && stored[AT(DEFAULT, p)] &&
       (memory[AT(i, p)] == DOUBT_DEFAULT || memory[AT(i, p)] == DOUBT_ANYWHERE) ->
       memory[AT(i, p)] = OUTCOME_DEFAULT; pastHorizon[AT(i, p)] = false }
  :: atomic { up[i] && held[i] && call[AT(i, p)] == 0 && stored[AT(FALLBACK, p)] &&
       (memory[AT(i, p)] == DOUBT_FALLBACK || memory[AT(i, p)] == DOUBT_ANYWHERE) ->
       memory[AT(i, p)] = OUTCOME_FALLBACK; pastHorizon[AT(i, p)] = false }
  :: atomic { up[i] && held[i] && call[AT(i, p)] == 0 && pastHorizon[AT(i, p)] &&
       (memory[AT(i, p)] == DOUBT_DEFAULT && !stored[AT(DEFAULT, p)] ||
         memory[AT(i, p)] == DOUBT_FALLBACK && !stored[AT(FALLBACK, p)] ||
         memory[AT(i, p)] == DOUBT_ANYWHERE && !stored[AT(DEFAULT, p)] && (!stored[AT(FALLBACK, p)] || BREAK == 10)) ->
         memory[AT(i, p)] = QUEUED; pastHorizon[AT(i, p)] = false } /* Requeue. */
  /* SettlementWriter: SettlementLedger.RecordSql, whatever became of the lease. */
  :: atomic { up[i] && memory[AT(i, p)] >= OUTCOME_DEFAULT ->
       processor = (memory[AT(i, p)] == OUTCOME_DEFAULT -> DEFAULT : FALLBACK);
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

/* Calls that nobody waits for. */
proctype network(byte p) {
  do
  :: atomic { lost[AT(DEFAULT, p)] > 0 -> lost[AT(DEFAULT, p)]--; storeAt(DEFAULT, p) }
  :: atomic { lost[AT(DEFAULT, p)] > 0 -> lost[AT(DEFAULT, p)]-- }
  :: atomic { lost[AT(FALLBACK, p)] > 0 -> lost[AT(FALLBACK, p)]--; storeAt(FALLBACK, p) }
  :: atomic { lost[AT(FALLBACK, p)] > 0 -> lost[AT(FALLBACK, p)]-- }
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
