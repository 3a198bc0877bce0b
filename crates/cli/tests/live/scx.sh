# What scx.rs does in a guest: policies schedule its kernel. Words: what, this program, the programs of scx.c, and more.
what=$1 evenkeel=$2 programs=$3
shift 3

# Words, so that what runs in the background is the program itself; signals that shells have it ignore there are not.
scx="env --default-signal $evenkeel scx --big 0-1 --little 2-3 --ratio 3"
state() { cat /sys/kernel/sched_ext/state; }
in_state() { [ "$(state)" = "$1" ]; }
# Waits for something that must happen, on however slow a machine.
eventually() { for _ in $(seq 600); do "$@" && return; sleep 0.05; done; echo "never: $*"; }
# A document, on one line.
document() { sed -n '/^{/,/^}/p' "$1" | tr -d '\n'; echo; }
# Schedules by a policy, a name and where it decides (pfs/kernel), with more words. Prints how that ended, and the account.
under() {
	policy=$1
	shift
	$scx --policy "${policy%/*}" --path "${policy#*/}" --format json "$@" 2>/tmp/errors
	echo "$policy $? $(state)"
	document /tmp/errors
	grep -v '^[{} ]' /tmp/errors >&2
}
# How long a process has computed, in ticks.
computed() { set -- $(cut -d' ' -f14,15 "/proc/$1/stat"); echo $(($1 + $2)); }
# Waits until the machine is given back, for so many seconds at most. No process begins or ends for that.
quietly() {
	IFS=. read -r up _ </proc/uptime
	end=$((up + $1))
	while [ "$up" -lt $end ] && read -r now </sys/kernel/sched_ext/state && [ "$now" != disabled ]; do
		IFS=. read -r up _ </proc/uptime
	done
}

# A command that begins, waits to be told, and ends with 7.
command='echo begun; while [ ! -e /tmp/go ]; do sleep 0.05; done; echo on; exit 7'
begin() { rm -f /tmp/go; : >/tmp/out; $scx -q "$@" >/tmp/out 2>/tmp/errors & pid=$!; }
begun() { eventually grep -q begun /tmp/out; }
on() { touch /tmp/go; eventually grep -q on /tmp/out; }
ended() { wait $pid; echo "$1: $? $(state)"; cat /tmp/errors >&2; }
# What the kernel itself complains of.
complaints() { dmesg | grep -e BUG: -e WARNING: -e 'blocked for more'; }
# Where each thread and core was when the kernel took the machine back: it tells that only to who has asked before.
ask_where() { mount -t tracefs none /sys/kernel/tracing 2>/dev/null; echo 1 >/sys/kernel/tracing/events/sched_ext/sched_ext_dump/enable; }
tell_where() { grep -v '^#' /sys/kernel/tracing/trace >&2; }

# Programs of all kinds at the same time, by how much they do: each must end well.
mix() {
	started=
	for program in "cpu 4 $((10 * $1))" "cpu 1 $((20 * $1))" "lock 4 $1" "barrier 4 $1" "pipe 4 $1" "fork 2 $(($1 / 10))" \
		"storm 2 $(($1 / 10))" "wander 2 $(($1 / 5))" "nap 2 $(($1 / 5))" "exec 3 $((10 * $1))"; do
		# Without quotes: three words.
		$programs $program &
		started="$started $!"
	done
	for pid in $started; do wait "$pid" || echo "failed: $?"; done
}

case $what in
mix) mix "$1" ;;

# Under each policy programs of all kinds.
policies)
	much=$1
	shift
	for policy; do under "$policy" -- sh "$0" mix "$evenkeel" "$programs" "$much"; done
	;;

# Under each policy more threads than cores, which have unequal work.
uneven)
	much=$1
	shift
	for policy; do under "$policy" -- "$programs" uneven 8 "$much"; done
	;;

# Every way in which the machine is given back.
ends)
	# A service manager is told each time that the kernel is scheduled, and only then.
	export NOTIFY_SOCKET=/tmp/notify
	# Of a run that was killed.
	rm -f $NOTIFY_SOCKET
	"$programs" manager 1 >/tmp/told & manager=$!
	eventually [ -S $NOTIFY_SOCKET ]
	begin -- sh -c "$command"; begun
	$scx -q -- true 2>/tmp/second; echo "second: $? $(state)"; cat /tmp/second
	on; ended first
	eventually grep -q enabled /tmp/told; kill $manager; cat /tmp/told
	rm -f $NOTIFY_SOCKET
	unset NOTIFY_SOCKET

	for path in kernel daemon; do
		begin --path $path -- sh -c "$command"; begun
		kill -9 $pid; eventually in_state disabled; on; ended "killed, $path"

		begin --path $path -- sh -c "$command"; begun
		kill -STOP $pid; eventually in_state disabled
		kill -CONT $pid; on; ended "stopped, $path"
		grep -o 'the kernel took the machine back: .*' /tmp/errors
	done

	# The command begins no process, and what there was to tell is over when this one is stopped: it is told nothing.
	begin -- sh -c 'echo begun; while [ ! -e /tmp/go ]; do :; done; echo on'; begun; quietly 2
	kill -STOP $pid; quietly 30
	kill -CONT $pid; on; ended "stopped, told nothing"

	begin -- sh -c "$command"; begun; kill -INT $pid; ended "command interrupted"
	begin --for 300ms -- sh -c "$command"; begun; eventually in_state disabled; on; ended "command's time"
	complaints
	;;

# While the same programs run, one policy comes after another.
"policies come and go")
	(mix 100; echo done) >/tmp/mix & mix=$!
	begin --policy colab; eventually in_state enabled; sleep 0.3; kill -INT $pid; ended interrupted
	begin --policy colab --path daemon; eventually in_state enabled; sleep 0.3; kill -INT $pid; ended interrupted
	wait $mix; cat /tmp/mix
	complaints
	;;

# Beside threads that never sleep, and some that change their masks, a little core and a big one go and come back.
"cores come and go")
	switch() { echo "$2" >"/sys/devices/system/cpu/cpu$1/online" || echo "cpu$1 cannot be $2"; }
	bound() { grep -qx "Cpus_allowed_list:	$2" "/proc/$1/status"; }
	ask_where
	for policy; do
		begin --policy ${policy%/*} --path ${policy#*/} -- sh -c "$command"; begun
		"$programs" hog 4 & hogs=$!
		"$programs" wander 2 3000 & wanders=$!
		for cpu in 3 1; do
			# One of them waits, maybe in the middle of what it reads under RCU, and may use no other core.
			taskset -c $cpu "$programs" hog 1 & one=$!
			taskset -c $cpu "$programs" fault 3 & other=$!
			eventually bound $one $cpu; eventually bound $other $cpu
			switch $cpu 0; sleep 0.2; switch $cpu 1
			kill $one $other
			# It is used again.
			taskset -c $cpu true || echo "cpu$cpu: $?"
		done
		kill $hogs $wanders
		on; ended "hotplug, $policy"
	done
	# A core that is off when another policy begins, which decides in the process, and one inside the kernel: nothing waits for it.
	begin --policy pfs -- sh -c "$command"; begun
	"$programs" hog 4 & hogs=$!
	switch 3 0
	for policy in cluster-switch colab; do
		"$evenkeel" top --policy $policy || echo "not changed: $?"
		sleep 6
		in_state enabled || echo "$policy: not scheduled any more"
	done
	switch 3 1
	taskset -c 3 true || echo "cpu3: $?"
	kill $hogs
	on; ended "off at first"
	complaints
	tell_where
	;;

# Figures while it goes on, and the account.
figures)
	for policy; do under "$policy" --stats 100ms --for 1s; done
	;;

# Another process watches, lets other policies decide, and pins a thread.
watched)
	bound() { grep -qx "Cpus_allowed_list:	$2" "/proc/$1/status"; }
	"$programs" hog 1 & hog=$!
	top="$evenkeel top"
	document() { $top --format json | sed "s/^/$1 /"; }
	# Whether the threads that it has of a process are those that there are.
	are_told() {
		there=$(ls /proc/$1/task | sort)
		told=$($top --format json | grep -o "[0-9]*,\"process\":$1," | cut -d, -f1 | sort)
		[ "$told" = "$there" ]
	}
	# A thread that is not the first of its process becomes another program, which computes on.
	become() {
		"$programs" exec 2 1000000000 & other=$!
		eventually grep -qx exe /proc/$other/comm
		eventually are_told $other; echo "$1: its threads are told"
		echo "of $other there are" $there "and were told" $told >&2
		kill $other
	}
	begin --policy pfs -- sh -c "$command"; begun
	$top --pin $hog=3 || echo "not pinned: $?"
	eventually bound $hog 3
	document pfs
	become pfs
	# What no part of the kernel decides: each takeover takes an emulated kernel seconds.
	$top --policy cluster-switch || echo "not changed: $?"
	in_state enabled || echo "not scheduled any more"
	document changed
	become changed
	$top --policy oracle 2>&1; echo "oracle: $?"
	kill -9 $pid; eventually bound $hog 0-3; on; ended killed
	kill $hog
	complaints
	;;

# Pages: one of two policies, one of a machine that the kernel takes back. One program never sleeps, and threads of another wait for each other.
page)
	"$programs" hog 1 & hog=$!
	"$programs" lock 4 100000000 & locks=$!
	begin --policy pfs --html page.html -- sh -c "$command"; begun
	sleep 0.5
	"$evenkeel" top --policy cluster-switch || echo "not changed: $?"
	sleep 0.5
	on; ended page
	begin --policy pfs --path daemon --html cut.html -- sh -c "$command"; begun
	sleep 0.5
	kill -STOP $pid; eventually in_state disabled
	kill -CONT $pid; on; ended cut
	kill $hog $locks
	;;

# The process that decides is stopped four times, for less long than until the machine is given back. Programs must get on meanwhile. Nothing
# here begins a process then, which would wait for it, too.
stopped)
	hogs=
	for _ in 1 2 3 4 5 6; do "$programs" hog 1 & hogs="$hogs $!"; done
	# How long each has computed, in ticks.
	each() {
		ticks=
		for hog in $hogs; do
			read -r stat <"/proc/$hog/stat"
			set -- $stat
			ticks="$ticks $((${14} + ${15}))"
		done
		echo $ticks
	}
	hundredths() { IFS='. ' read -r whole part _ </proc/uptime; at=$((whole * 100 + 1$part - 100)); }
	$scx --policy pfs --path daemon --format json 2>/tmp/errors & pid=$!
	eventually in_state enabled
	for _ in 1 2 3 4; do
		kill -STOP $pid
		each
		hundredths; end=$((at + 60))
		while [ $at -lt $end ]; do hundredths; done
		each
		kill -CONT $pid
		sleep 0.5
	done
	kill -INT $pid; wait $pid; echo "stopped: $? $(state)"
	document /tmp/errors
	grep -v '^[{} ]' /tmp/errors >&2
	kill $hogs
	;;

# What the kernel itself has to do on each core, beside threads that never sleep and come first.
kernel-threads)
	for policy; do under "$policy" -- sh "$0" refresh "$evenkeel" "$programs"; done
	;;

refresh)
	"$programs" hog 8 & hogs=$!
	trap 'kill $hogs' EXIT
	# It ends when a thread of the kernel has run on every core.
	for _ in 1 2 3; do cat /proc/sys/vm/stat_refresh || exit 1; done
	;;

# A thread that never sleeps is on a little core while big ones are in use, and then one of those is not.
hot)
	for policy; do under "$policy" -- "$programs" hot 1 41; done
	;;

# The live view in a terminal of its own, beside one that schedules.
top)
	"$programs" hog 1 & hog=$!
	mkfifo /tmp/keys
	begin --policy colab -- sh -c "$command"; begun
	script -qfec "stty rows 30 columns 100; exec $evenkeel top --every 200ms" shown </tmp/keys >/dev/null & terminal=$!
	exec 3>/tmp/keys
	eventually grep -q "programs" shown
	printf q >&3
	wait $terminal; echo "top: $?"
	exec 3>&-
	on; ended scheduled
	kill $hog
	;;

# Two CPUs of four are scheduled: what the others run in that moment comes to these.
half)
	for path in kernel daemon; do
		hogs=
		for _ in 1 2 3 4; do "$programs" hog 1 & hogs="$hogs $!"; done
		# On all four.
		sleep 1
		env --default-signal $evenkeel scx -q --policy pfs --path $path --big 0 --little 1 & pid=$!
		eventually in_state enabled
		# In ticks.
		others() { awk '/^cpu[23] / { sum += $2 } END { print sum }' /proc/stat; }
		left() { before=$(others); sleep 1; [ $(($(others) - before)) -le 20 ]; }
		eventually left && echo "$path: on the chosen CPUs"
		kill -INT $pid; wait $pid; echo "$? $(state)"
		kill $hogs
	done
	;;

# A machine file whose big cores are not the guest's, so that only the file can say so: a lone thread belongs on a big one.
machine)
	$evenkeel topology --big 2-3 --little 0-1 --ratio 3 --save /tmp/machine.toml >/dev/null
	taskset -c 0 sh -c 'while :; do :; done' & hog=$!
	env --default-signal $evenkeel scx -q --policy pfs --machine /tmp/machine.toml & pid=$!
	eventually in_state enabled
	on_big() { [ "$(cut -d' ' -f39 "/proc/$hog/stat")" -ge 2 ]; }
	taskset -pc 0-3 $hog >/dev/null; eventually on_big && echo "on a big core of the file"
	kill -INT $pid; wait $pid; echo "$? $(state)"
	kill $hog
	$evenkeel scx --machine /tmp/machine.toml:2+1 -- true 2>&1; echo "$? $(state)"
	;;

# What a terminal shows: figures in a line, unless that is not wanted, or a command or another job has the terminal.
status)
	scx="$scx --policy pfs"
	# A terminal of its own for a line, which can draw, wherever the tests run; what is shown goes to a file.
	shown() { TERM=xterm script -qfec "$2" "$1" >/dev/null </dev/null & terminal=$!; }
	interrupt() { kill -INT "$(cat /tmp/pid)"; }
	ended() { wait $terminal; echo "$1: $? $(state)"; }
	shown alone "echo \$\$ >/tmp/pid; exec $scx"
	eventually in_state enabled; eventually grep -q switches/s alone; interrupt; ended alone
	shown quiet "echo \$\$ >/tmp/pid; exec $scx -q"
	eventually in_state enabled; sleep 1.5; interrupt; ended quiet
	shown command "exec $scx sleep 1.5"; ended command
	shown background "set -m; $scx & echo \$! >/tmp/pid; wait \$!"
	eventually in_state enabled; sleep 1.5; interrupt; ended background
	;;

# A process and a control group that are not there.
absent)
	$scx --only 4194304 2>&1; echo "process: $? $(state)"
	$scx --only no/such.slice 2>&1; echo "group: $? $(state)"
	echo "loaded $(cat /sys/kernel/sched_ext/enable_seq)"
	;;

# A process or a control group alone; and how much threads have by the weights of their groups.
only)
	groups=/sys/fs/cgroup
	mountpoint -q $groups || mount -t cgroup2 none $groups
	echo +cpu >$groups/cgroup.subtree_control
	mkdir $groups/light $groups/heavy
	echo 500 >$groups/heavy/cpu.weight
	# The class of a thread (7: SCHED_EXT) and its nice value.
	class() { set -- $(cut -d' ' -f41,19 "/proc/$1/stat"); echo "$2 nice $1"; }
	is() { [ "$(class "$1")" = "$2" ]; }
	begin() { $scx -q "$@" >/tmp/out 2>/tmp/errors & pid=$!; eventually in_state enabled; }
	end() { kill -INT $pid; wait $pid; echo "$1: $? $(state)"; cat /tmp/errors >&2; }

	nice -n 5 "$programs" hog 1 & first=$!
	"$programs" hog 1 & other=$!
	# It ends by itself when what it schedules is gone.
	gone() { wait $pid; echo "$1: $? $(state)"; cat /tmp/errors >&2; }
	begin --only $first; eventually is $first "7 nice 5"; echo "process: $(class $first), $(class $other)"
	kill $first; gone process

	# WASH wants a lone thread on a big core. Only the process says so: by what the kernel does itself it would stay on its little one.
	taskset -c 3 sh -c 'while :; do :; done' & first=$!
	on_big() { [ "$(cut -d' ' -f39 "/proc/$first/stat")" -le 1 ]; }
	begin --policy wash --only $first; eventually is $first "7 nice 0"
	taskset -pc 0-3 $first >/dev/null; eventually on_big
	kill $first; gone "to a big core"

	# One that is killed leaves threads of the class behind: what these start is not of those that are chosen next.
	sh -c '"$0" hog 1 & echo $! >/tmp/child; while :; do sleep 0.1 & wait $!; done' "$programs" & first=$!
	begin --only $first; eventually is $first "7 nice 0"
	kill -KILL $pid; wait $pid || true; eventually in_state disabled
	"$programs" hog 1 & joins=$!
	begin --only $joins; eventually is $joins "7 nice 0"
	kill $joins; gone "beside left-overs"
	echo "afterwards $(class $first)"
	child=$(cat /tmp/child)
	begin --only $child; eventually is $child "7 nice 0"; end "of a left-over"
	echo "afterwards $(class $first), $(class $child)"
	kill $first $child

	nice -n 5 "$programs" hog 1 & first=$!
	echo $first >$groups/light/cgroup.procs
	begin --only light
	eventually is $first "7 nice 5"
	nice -n 3 "$programs" hog 1 & joins=$!
	echo $joins >$groups/light/cgroup.procs
	eventually is $joins "7 nice 3"
	echo "group: $(class $first), $(class $joins), $(class $other)"
	kill $first $joins $other
	wait $first $joins
	rmdir $groups/light; gone group
	mkdir $groups/light

	# Threads of the kernel's own scheduler come first: where they leave one core, it goes there.
	for path in kernel daemon; do
		"$programs" hog 1 & first=$!
		begin --only $first --path $path
		others=
		for cpu in 0 1 2; do taskset -c $cpu "$programs" hog 1 & others="$others $!"; done
		before=$(computed $first)
		sleep 2
		had=$(($(computed $first) - before))
		end "beside others, $path"
		if [ $had -ge 60 ]; then echo "it had a core"; else echo "it had $had ticks"; fi
		echo "afterwards $(class $first)"
		kill $first $others
	done

	# Both on one core: five times as much, whatever the policy makes of it. And on another one two that yield to each other.
	for path in kernel daemon; do
		taskset -c 0 "$programs" hog 1 & light=$!
		taskset -c 0 "$programs" hog 1 & heavy=$!
		echo $light >$groups/light/cgroup.procs; echo $heavy >$groups/heavy/cgroup.procs
		begin --policy cfs --path $path
		before="$(computed $light) $(computed $heavy)"
		sleep 3
		set -- $before $(computed $light) $(computed $heavy)
		taskset -c 3 "$programs" yield 2 200 && echo "who yields lets others run"
		end "weights, $path"
		more=$((($4 - $2) * 10 / ($3 - $1 + 1)))
		if [ $more -ge 25 ] && [ $more -le 100 ]; then echo "heavy had more"; else echo "heavy had $more tenths of light"; fi
		kill $light $heavy
	done
	;;

# A thread loses its core to a real-time one.
real-time)
	for policy; do under "$policy" -- "$programs" oust 1; done
	;;

# As if schedutil set the frequencies of the guest's cores, which have none: who decides tells the kernel how much they are used.
governor)
	for cpu in /sys/devices/system/cpu/cpu[0-3]; do
		mkdir "$cpu/cpufreq"
		echo schedutil >"$cpu/cpufreq/scaling_governor"
	done
	for policy; do under "$policy" -- "$programs" cpu 2 200; done
	;;

# What others test schedulers with: threads that come and go, wait, wake each other, and change classes, masks and nice values.
stress)
	# More zombies than the kernel has room for would leave no thread for the others to create. A stressor that has not created its first
	# thread when its time is over says that it could not, and fails: on a slow machine 5 s are not enough for that, and were 15 once not where
	# programs were being built beside it.
	for policy; do
		under "$policy" -- stress-ng --temp-path /tmp --timeout 30s --cpu 2 --pthread 1 --fork 1 --zombie 1 --zombie-max 1000 --switch 1 \
			--futex 1 --mutex 1 --sem 1 --pipe 1 --yield 1 --affinity 1 --nice 1 --schedpolicy 1
	done
	;;

# Up to 3,000 threads that wait for a core at a time.
crowd)
	for policy; do
		under "$policy" -- stress-ng --temp-path /tmp --timeout 15s --cpu 2 --pthread 2 --pthread-max 1500 --fork 1 --switch 1
	done
	;;

# Many threads that come and go, and more that never sleep than there are cores.
storms)
	under "$2" -- "$programs" storm 4 "$1"
	under "$2" -- sh "$0" hogs "$evenkeel" "$programs"
	;;

hogs)
	nice -n -20 "$programs" hog 4 & first=$!
	nice -n 19 "$programs" hog 4 & last=$!
	# Both stand still while they are read.
	read_both() { kill -STOP $first $last; first_had=$(computed $first) last_had=$(computed $last); kill -CONT $first $last; }
	sleep 1
	read_both
	before="$first_had $last_had"
	"$programs" nap 1 50
	read_both
	set -- $before
	first_had=$((first_had - $1)) last_had=$((last_had - $2))
	[ $first_had -gt $((3 * last_had)) ] || echo "the nice ones had too much: $last_had ticks, the others $first_had"
	kill $first $last
	;;
esac
