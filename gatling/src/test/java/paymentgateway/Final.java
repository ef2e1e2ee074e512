package paymentgateway;

import paymentgateway.rig.Load;

/** The five minutes that decided. */
public final class Final extends OfficialLoad {
  public Final() {
    super(Load.FINAL);
  }
}
