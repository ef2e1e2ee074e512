# The stages of a run as gnuplot's commands: bands of colour, and words above them. A line of the table is
# from,to,defaultDelay,defaultFailing,fallbackDelay,fallbackFailing.
function word(delay, fails) { return fails ? "fails" : delay > 0 ? delay " ms" : "ok" }

BEGIN { FS = "," }

NR > 1 {
  # Red where default fails, darker red where both fail, amber where default is slow, blue for fallback alone.
  colour = $4 && $6 ? "#f2c4c8" : $4 ? "#fae0e2" : $3 >= 100 ? "#fdf1d8" : $5 >= 1000 || $6 ? "#eef3fa" : ""
  if (colour)
    printf "set object %d rect from %s, graph 0 to %s, graph 1 behind fc rgb \"%s\" fs solid noborder\n",
      NR, $1, $2, colour
  labels = labels sprintf("set label %d \"default %s\\nfallback %s\" at %s, graph 1 offset 0.4,1.6 " \
    "font \"DejaVu Sans,8\" textcolor rgb \"#5c626b\"\n", NR + 99, word($3, $4), word($5, $6), $1)
}

# Of more stages the words would lie over each other.
END { if (NR <= 13) printf "%s", labels }
