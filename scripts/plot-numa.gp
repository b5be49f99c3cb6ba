# SPDX-License-Identifier: GPL-2.0-only
# gnuplot -e "data='FILE'" plot-numa.gp >OUT.svg
# Lines of FILE: backing, policy, mean share of local pages in %, throughput in % of that
# with balancing off; separated by tabs.
policies = "off mbind kvm skip precise paced-16 paced-64 paced-256"

of(backing, policy) = strcol(1) eq backing && strcol(2) eq policy ? $3 : NaN

set terminal svg size 960,340 font "sans-serif,12" background "white"
set datafile separator "\t"
set logscale y
set format y "%g"
set xrange [-5:105]
set yrange [0.1:200]
set xtics 0,25,100
set grid
set key at screen 0.84,0.85 left top Left reverse samplen 1
set multiplot layout 1,3 margins 0.075,0.83,0.2,0.88 spacing 0.06
set xlabel "mean share of local pages (%)"
set ylabel "guest throughput (% of balancing off)"
do for [backing in "anon anon-thp memfd"] {
	set title backing
	plot for [i = 1:words(policies)] data \
		using (of(backing, word(policies, i))):4 with points pt i lc i ps 1.2 lw 2 \
		title backing eq "memfd" ? word(policies, i) : ""
	unset ylabel
}
unset multiplot
