# SPDX-License-Identifier: GPL-2.0-only
# gnuplot -e "data='FILE'" plot-unmap.gp >OUT.svg
# Lines of FILE: CPU, backing, policy, pages of 4 KiB, instructions; separated by tabs.
of(cpu, backing, policy) = strcol(1) eq cpu && strcol(2) eq backing && strcol(3) eq policy ? $4 : NaN

set terminal svg size 960,340 font "sans-serif,12" background "white"
set datafile separator "\t"
set logscale xy
set format y "10^{%L}"
set xrange [0.7:200000]
set yrange [1e3:1e9]
set grid
set key at screen 0.84,0.85 left top Left reverse samplen 1
set multiplot layout 1,3 margins 0.075,0.83,0.2,0.88 spacing 0.06
set xlabel "pages of 4 KiB, munmap"
set ylabel "instructions"
do for [cpu in "cortex-a72 neoverse-n1 max"] {
	set title cpu
	plot for [backing in "anon memfd"] for [policy in "stock coalesce retired"] data \
		using (of(cpu, backing, policy)):5 with linespoints lw 2 \
		pt (backing eq "anon" ? 7 : 5) lc rgb (policy eq "stock" ? "#c04040" : policy eq "coalesce" ? "#3060c0" : "#40a060") \
		title cpu eq "max" ? backing." ".policy : ""
	unset ylabel
}
unset multiplot
