package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.exec;

import io.gatling.javaapi.core.ChainBuilder;
import io.gatling.javaapi.core.PopulationBuilder;
import io.gatling.javaapi.core.Session;
import io.gatling.javaapi.core.Simulation;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import paymentgateway.rig.Load;
import paymentgateway.rig.Outcome;
import paymentgateway.rig.Run;
import paymentgateway.rig.Stage;
import paymentgateway.rig.WarmCalls;

/** What all simulations share: empty ledgers first, the load, then the ledger check and the figures. */
abstract class MeasuredSimulation extends Simulation {
  protected final Run run;
  private final WarmUp warmUp = new WarmUp();

  /** A load of our own pays and counts as the preview does. */
  protected MeasuredSimulation(double seconds, List<Stage> stages) {
    this(Load.PREVIEW, seconds, stages);
  }

  protected MeasuredSimulation(Load load, double seconds, List<Stage> stages) {
    run = new Run(load, seconds, stages);
  }

  /** Adds a simulation's own figures and findings to the outcome. */
  protected abstract void conclude(Outcome outcome) throws IOException;

  protected final PopulationBuilder warmUpThen(PopulationBuilder... populations) {
    return warmUp.population().andThen(populations);
  }

  /** A virtual user pays once and goes: arrivals per second are what is set, however slow the answers. */
  protected final ChainBuilder payOnce() {
    return exec(this::begin).exec(PaymentCalls.ready()).exec(pay());
  }

  protected final ChainBuilder pay() {
    return PaymentCalls.pay(run.settings.url, run.load.amount(), run.traffic);
  }

  protected Session begin(Session session) {
    run.begin();
    return session;
  }

  protected final void demandNoFailure() {
    if (run.traffic.failed() > 0) run.report(run.traffic.failed() + " payments failed");
  }

  // An exception here would tell Maven the same, but Gatling would then write no report of the run that went wrong.
  private static void failOnExit() {
    Runtime.getRuntime().addShutdownHook(new Thread(() -> Runtime.getRuntime().halt(1)));
  }

  @Override
  public void before() {
    try {
      WarmCalls.make(warmUp.url());
      run.prepare();
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  @Override
  public void after() {
    try {
      run.compareLedgers();
      var outcome = new Outcome(run, getClass().getSimpleName());
      conclude(outcome);
      outcome.close();
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      run.report("the ledgers were not compared");
    } finally {
      warmUp.stop();
    }
    if (run.hasFailed()) failOnExit();
  }
}
