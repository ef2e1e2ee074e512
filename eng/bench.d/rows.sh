# shellcheck shell=bash disable=SC2154
# Sourced by eng/bench: raw rows, medians, and the tables in the form of docs/measurements.

tell() { say "$*" | tee -a "$report"; }

row() { printf '%s\n' "$*" | tee -a "$out/rows.txt"; }  # section, side, figures

median() { sort -g | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'; }

# Section, side, column.
figures() { awk -v a="$1" -v b="$2" -v c="$3" '$1 == a && $2 == b { print $c }' "$out/rows.txt"; }

# A label named several times is one row, of medians.
once() { printf '%s\n' "$@" | awk '!seen[$0]++'; }

median_of() { figures "$@" | median; }

table() { tell ''; tell "$1"; tell ''; tell "$2"; tell "$(sed -E 's/[^|]+/ --- /g' <<<"$2")"; }  # title, head

table_row() {  # section, side, first and last column of the raw rows
  local column line="| $2 |"
  for ((column = $3; column <= $4; column++)); do line+=" $(median_of "$1" "$2" "$column") |"; done
  tell "$line"
}

tell_busy() {
  [[ -f $out/busy.txt ]] || return 0
  tell ''
  tell "Not to be trusted: $(wc -l <"$out/busy.txt") runs began on a busy machine ($(tr '\n' ';' <"$out/busy.txt"))."
}
