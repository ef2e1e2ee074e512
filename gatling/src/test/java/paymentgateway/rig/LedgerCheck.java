package paymentgateway.rig;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The check after every run: the gateway's ledger against the processors' own, exact, and nothing accepted lost. */
final class LedgerCheck {
  private static final Duration PAUSE = Duration.ofMillis(200);
  private final Parties parties;

  LedgerCheck(Parties parties) {
    this.parties = parties;
  }

  /** Waits until all accepted payments are settled, for at most so long. */
  void awaitSettled(long accepted, Duration limit) throws InterruptedException {
    var deadline = System.nanoTime() + limit.toNanos();
    while (System.nanoTime() < deadline) {
      try {
        if (parties.gateway.summary(Window.ALL).all().requests() >= accepted) return;
      } catch (IOException unavailable) {
        // It may come back within the limit; the check that follows says so if it does not.
      }
      Thread.sleep(PAUSE.toMillis());
    }
  }

  /**
   * @param accepted payments that got their 2xx: each must be settled
   * @param sent all that were sent: one without an answer may have been stored, so more than these is wrong for sure
   * @return what is wrong, nothing when the ledgers agree
   */
  List<String> check(long accepted, long sent) {
    Summary gateway;
    Summary processors;
    try {
      gateway = parties.gateway.summary(Window.ALL);
      processors = parties.processors(Window.ALL);
    } catch (IOException | IllegalArgumentException unreadable) {
      return List.of("ledger: " + unreadable.getMessage());
    }

    var wrong = new ArrayList<String>();
    for (var name : gateway.names(processors))
      compare(wrong, name, gateway.byProcessor().get(name), processors.byProcessor().get(name));
    var settled = gateway.all().requests();
    if (settled < accepted) wrong.add("ledger: " + (accepted - settled) + " accepted payments are not settled");
    if (settled > sent) wrong.add("ledger: " + (settled - sent) + " payments more than were sent");
    return wrong;
  }

  private static void compare(List<String> wrong, String processor, Totals gateway, Totals own) {
    // A name that one side lacks is wrong even without a payment.
    if (gateway == null || own == null || !gateway.agrees(own))
      wrong.add("ledger: " + processor + " is " + gateway + " at the gateway and " + own + " at the processor");
  }
}
