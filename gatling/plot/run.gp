# One picture of a run: gnuplot -e "folder='…'; out='…'; headline='…'; ledger=0|1; plots='the folder of this file'" run.gp
set terminal pngcairo size 1280,(ledger ? 1060 : 520) font "DejaVu Sans,10.5" background rgb "#ffffff"
set output out
set datafile separator comma
set border 3 lc rgb "#8a8f98"
set tics nomirror textcolor rgb "#4a4f57"
set grid ytics lc rgb "#e3e5e9" lt 1 lw 1
set key top left horizontal Left reverse samplen 1.6 textcolor rgb "#33373d"
set lmargin 11
set rmargin 3
stats folder.'/latency.csv' using 1 skip 1 nooutput
end = ceil(STATS_max + 0.5)
set xrange [0:end]
set multiplot
set label 1 headline at screen 0.012,(ledger ? 0.978 : 0.955) font "DejaVu Sans Bold,12" textcolor rgb "#1f2329"
load '< awk -f '.plots.'/stages.awk '.folder.'/stages.csv'

# Latency, on a logarithmic scale: a millisecond and an outlier of a hundred both stay readable.
set tmargin at screen (ledger ? 0.93 : 0.86)
set bmargin at screen (ledger ? 0.56 : 0.12)
set logscale y
set yrange [0.1:*<10000]
set format y "%g"
set ylabel "answer time, ms" textcolor rgb "#4a4f57"
if (!ledger) set xlabel "seconds" textcolor rgb "#4a4f57"
if (ledger) set format x ""
plot folder.'/latency.csv' using 1:6 skip 1 with points pt 7 ps 0.35 lc rgb "#b8bcc4" title "slowest", \
     '' using 1:5 skip 1 with lines lw 2.2 lc rgb "#c4314b" title "p99", \
     '' using 1:4 skip 1 with lines lw 1.6 lc rgb "#e08a1e" title "p90", \
     '' using 1:3 skip 1 with lines lw 2.2 lc rgb "#2563a8" title "p50"

if (ledger) {
  unset label 1
  do for [i=100:140] { unset label i }
  unset logscale y
  set format y "%.0f"
  set tmargin at screen 0.52
  set bmargin at screen 0.33
  set yrange [0:*<1e9]
  set ylabel "backlog, payments"
  plot folder.'/settled.csv' using 1:5 skip 1 with filledcurves y=0 fc rgb "#c9b8e8" fs solid 0.85 \
         title "accepted and not yet settled", \
       '' using 1:5 skip 1 with lines lw 1.5 lc rgb "#6b4fa3" notitle

  set tmargin at screen 0.29
  set bmargin at screen 0.06
  set format x "%g"
  set xlabel "seconds" offset 0,0.4 textcolor rgb "#4a4f57"
  set ylabel "settled, payments"
  plot folder.'/settled.csv' using 1:4 skip 1 with filledcurves y=0 fc rgb "#f0b46a" title "by fallback and dearer", \
       '' using 1:3 skip 1 with filledcurves y=0 fc rgb "#7db38b" title "by default", \
       '' using 1:2 skip 1 with lines lw 1.8 dt 2 lc rgb "#33373d" title "accepted"
}
unset multiplot
