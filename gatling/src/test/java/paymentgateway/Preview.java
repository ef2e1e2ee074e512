package paymentgateway;

import paymentgateway.rig.Load;

/** The minute in which entries were tried. */
public final class Preview extends OfficialLoad {
  public Preview() {
    super(Load.PREVIEW);
  }
}
