# shellcheck shell=bash disable=SC2154
# Bytes allocated per payment by a whole gateway, in one process with its load; TYPES=1 says by which types.

section_bytes() {
  running=parts
  system start postgres default fallback
  tell ''
  tell "Bytes allocated per payment by one gateway: Kestrel, Npgsql and HTTP client included, $(framework) (JIT), no nginx"
  tell ''
  "$tool" allocations "$RUN_DIR/system.env" ${TYPES:+types} | tee -a "$report"
  stop_side
}
