# shellcheck shell=bash disable=SC2154
# BenchmarkDotNet, short job: time and bytes of the inner pieces.

section_inner() {
  (cd "$out" && "$tool" inner) >"$out/inner.log" 2>&1 || die "the benchmarks failed; log: $out/inner.log"
  tell ''
  tell "Inner pieces, $(framework) (JIT), short job of BenchmarkDotNet"
  # A table of its own for each class: their columns differ.
  sed -nE '/^\| *Method/ { s/^/\n/; p }; /^\|[-|: ]+$/p; /^\| *[A-Z][A-Za-z]+ /{ /Method/!p }' "$out/inner.log" \
    | tee -a "$report"
}
