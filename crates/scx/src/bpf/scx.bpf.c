// SPDX-License-Identifier: GPL-2.0-only
/* A scheduler of sched_ext that does what a process tells it: threads that become ready wait in queues of this program until
 * the process has assigned one of them to a core. What happens to threads becomes events for the process.
 *
 * A running thread stays where it is until it blocks, gives up its core, may not use it any more, or the process has it
 * stopped: what only interrupts it, such as a thread of the kernel, is no event. If the process is late, cores take
 * what waits in turn, first what ran on their own type. If it does not answer at all, the machine is given back.
 *
 * Here is what the kernel calls, in the order of a thread's life. What is known of threads is in daemon/threads.h, where they wait and
 * how cores get one in daemon/queues.h. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "calls.h"
#include "interrupts.h"
#include "ext.h"
#include "weight.h"
#include "report.h"
#include "clock.h"
#include "speed.h"
#include "hotplug.h"
#include "taken.h"
#include "daemon/threads.h"
#include "daemon/queues.h"

char LICENSE[] SEC("license") = "GPL";

/* How often lateness is checked, in ns: a tenth of the time after which the process is late. */
#define BEAT 2000000

/* A thread that yields has had a turn of so long at least, in ns (assumed: about what a decision takes). Programs that yield as long as
 * they wait would keep the process busy. */
#define LEAST_TURN 100000

/* Of a READY event. */
enum { WOKEN = 1, YIELDED = 2 };

/* Set before loading: the process is late when an event has waited for so long, in ns. */
const volatile __u64 late_after = 0;

/* Cores help themselves: the process has not begun, or is late. */
static bool late(void)
{
	return !heard || silent_for(bpf_ktime_get_ns(), late_after);
}

/* Who wakes a thread, or begins it, if a thread does. */
static void note_waker(struct task_struct *p)
{
	struct thread *thread = of(p);

	if (thread)
		thread->waker = in_interrupt() ? 0 : bpf_get_current_pid_tgid();
}

/* A thread is about to be woken. Its wake-up may be finished by another CPU, at an interrupt. */
SEC("tp_btf/sched_waking")
int BPF_PROG(scx_waking, struct task_struct *p)
{
	note_waker(p);
	return 0;
}

SEC("struct_ops/select_cpu")
__s32 BPF_PROG(scx_select_cpu, struct task_struct *p, __s32 previous, __u64 flags)
{
	bool idle = false;
	__s32 cpu;

	if (of_kernel(p)) {
		cpu = scx_bpf_select_cpu_dfl(p, previous, flags, &idle);
		if (idle)
			scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
		return cpu;
	}
	if (flags & SCX_WAKE_FORK)
		note_waker(p);
	return previous;
}

SEC("struct_ops/enqueue")
void BPF_PROG(scx_enqueue, struct task_struct *p, __u64 flags)
{
	__u32 cpu = scx_bpf_task_cpu(p) & (MAX_CPUS - 1), told = 0, waker;
	struct thread *thread = named(p);
	__u64 waited = 0;

	/* One that exits is renamed, and cannot be found by its number, some time after it has its exit state. */
	if (of_kernel(p) || !thread || p->exit_state) {
		/* Only when it wakes up: two that preempted each other would do so for ever. */
		if (flags & SCX_ENQ_WAKEUP)
			flags |= SCX_ENQ_PREEMPT;
		insert_outside(p, SCX_SLICE_DFL, flags);
		return;
	}
	/* Also where a thread is that must not migrate now, if no policy sees that CPU, or sees it no more. */
	if (thread->outside || (!(is_chosen(cpu) && is_on(cpu)) && may_use(p, cpu) && !may_go_on(p))) {
		if (thread->on || thread->waits)
			tell(BLOCKS, p, 0, 0, 0);
		thread->on = 0;
		set_waits(thread, false);
		thread->yields = false;
		insert_outside(p, SLICE, flags);
		return;
	}
	if (thread->on == cpu + 1 && !(flags & (SCX_ENQ_WAKEUP | SCX_ENQ_REENQ)) && !thread->yields && !thread->leaves && may_use(p, cpu) &&
	    is_chosen(cpu)) {
		/* It was only interrupted. If its slice was over, threads of the kernel that wait come first: else one that is
		 * interrupted each time that it is over, by this scheduler's own process, would keep them away for ever. */
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SLICE, p->scx.slice ? flags | SCX_ENQ_HEAD : flags);
		return;
	}
	waker = thread->waker;
	if (flags & SCX_ENQ_WAKEUP) {
		told |= WOKEN;
		if (thread->futex_since)
			waited = bpf_ktime_get_ns() - thread->futex_since;
	} else if (thread->yields) {
		told |= YIELDED;
	}
	thread->on = 0;
	thread->leaves = false;
	thread->waker = 0;
	thread->futex_since = 0;
	thread->yields = false;
	set_waits(thread, true);
	scx_bpf_dsq_insert(p, p->pid & (QUEUES - 1), SLICE, flags & ~SCX_ENQ_REENQ);
	tell(READY, p, told, waker, waited);
}

/* The process is to use a CPU again, or not any more. */
static void set_taken(__s32 cpu, bool is)
{
	tell_of_cpu(is ? OFFLINE : ONLINE, cpu, 0, 0);
}

SEC("struct_ops/dispatch")
void BPF_PROG(scx_dispatch, __s32 cpu, struct task_struct *prev)
{
	__u32 core = cpu & (MAX_CPUS - 1);
	struct assignment *assignment = &assignments[core];
	struct thread *thread = 0;
	__u32 number = assignment->number;
	/* A CPU that the process does not schedule takes nothing: what ran there would be seen by no policy. */
	bool back = is_on(cpu) && is_back(cpu), helps = is_chosen(core) && (back || late());
	bool runnable = prev && prev->scx.flags & SCX_TASK_QUEUED;
	enum delivered delivered;

	if (back)
		set_taken(cpu, false);
	if (number != taken[core]) {
		taken[core] = number;
		delivered = deliver(cpu, assignment->tid, assignment->slice);
		if (delivered == MOVED)
			return;
		tell_of_cpu(delivered == KEPT || waits(assignment->tid) ? KEEPS : REFUSED, cpu, assignment->tid, number);
	}
	if (runnable) {
		thread = of(prev);
		/* What a CPU that the process does not schedule ran at the takeover is queued for one that it does. */
		if (thread && !thread->outside && !thread->yields && !thread->leaves && is_chosen(core)) {
			/* While the process is late, threads take turns. */
			if (helps && late() && take_any(core))
				thread->leaves = true;
			else
				refill(prev, SLICE);
			return;
		}
	}
	/* The kernel lends a core that a real-time thread has for 50 ms a second, no more once it finds nothing to run there: its own
	 * threads of that core would starve. */
	if (helps && take_any(core))
		return;
	if (runnable && (!thread || thread->outside)) {
		refill(prev, SLICE);
	} else if (runnable) {
		/* Should the kernel keep the thread here after all, since it must not migrate now, the CPU would go idle beside it: it
		 * dispatches again (as SCX_ENQ_LAST calls for). */
		scx_bpf_kick_cpu(cpu, 0);
	}
}

SEC("struct_ops/running")
void BPF_PROG(scx_running, struct task_struct *p)
{
	__u32 cpu = scx_bpf_task_cpu(p) & (MAX_CPUS - 1);
	struct thread *thread = named(p);

	if (!thread || of_kernel(p) || thread->outside)
		return;
	if (thread->on == cpu + 1) {
		/* It was to leave while something else had its core, which is when a kick does not reach it. Not twice: the
		 * kernel itself keeps a thread there that must not migrate now. */
		if (thread->leaves && !thread->kicked) {
			thread->kicked = true;
			scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
		}
		return;
	}
	/* If it was to leave, it has: this is another turn. */
	thread->leaves = false;
	thread->kicked = false;
	set_waits(thread, false);
	thread->on = cpu + 1;
	thread->since = bpf_ktime_get_ns();
	thread->type = type_of[cpu];
	tell(RUNS, p, 0, 0, 0);
}

SEC("struct_ops/quiescent")
void BPF_PROG(scx_quiescent, struct task_struct *p, __u64 flags)
{
	struct thread *thread = named(p);
	bool futex;

	/* What is only changed is queued again at once. */
	if (!thread || of_kernel(p) || thread->outside || !(flags & SCX_DEQ_SLEEP))
		return;
	thread->on = 0;
	set_waits(thread, false);
	thread->leaves = false;
	futex = in_futex(p);
	thread->futex_since = futex ? bpf_ktime_get_ns() : 0;
	tell(BLOCKS, p, futex, 0, 0);
}

SEC("struct_ops/yield")
bool BPF_PROG(scx_yield, struct task_struct *from, struct task_struct *to)
{
	struct thread *thread = of(from);

	if (to)
		return false;
	/* If no other thread waits, it goes on at once: programs yield while they wait for each other without a call, and would wait for the
	 * process each time. While that is late, threads take turns by their slices: nobody would wait for it, and each yield be two events
	 * more. */
	if (!thread || thread->outside) {
		refill(from, 0);
	} else if (waiting && !late() && bpf_ktime_get_ns() >= thread->since + LEAST_TURN) {
		thread->yields = true;
		refill(from, 0);
	}
	return false;
}

SEC("struct_ops/cpu_release")
void BPF_PROG(scx_cpu_release, __s32 cpu, struct scx_cpu_release_args *args)
{
	make_room(args);
}

SEC("struct_ops/cpu_online")
void BPF_PROG(scx_cpu_online, __s32 cpu)
{
	opened(cpu);
}

SEC("struct_ops/cpu_offline")
void BPF_PROG(scx_cpu_offline, __s32 cpu)
{
	closed(cpu);
}

static int beat(void *map, __u32 *key, struct beat *beat)
{
	__u32 cpu, cpus = scx_bpf_nr_cpu_ids();

	if (gives_up(bpf_ktime_get_ns()))
		return 0;
	give_up_closing();
	bpf_for(cpu, 0, cpus) {
		check_occupied(cpu);
		/* A CPU that is only about to be online misses the kick for its assignment. */
		if (late() || assignments[cpu & (MAX_CPUS - 1)].number != taken[cpu & (MAX_CPUS - 1)])
			scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	}
	bpf_timer_start(&beat->timer, BEAT, 0);
	return 0;
}

SEC("struct_ops.s/init")
__s32 BPF_PROG(scx_init)
{
	__s32 error;
	int queue;

	bpf_for(queue, 0, QUEUES) {
		error = scx_bpf_create_dsq(queue, -1);
		if (error)
			return error;
	}
	note_off();
	return begin_beats(beat, BEAT);
}

SEC("struct_ops/exit")
void BPF_PROG(scx_exit, struct scx_exit_info *info)
{
	note_exit(info);
}

/* Makes a core check its assignment, or a thread leave it, if it is still there. */
struct kick {
	__s32 cpu;
	__s32 tid;
};

SEC("syscall")
int kick(struct kick *order)
{
	struct thread *thread;
	struct task_struct *p;

	if (!order->tid) {
		scx_bpf_kick_cpu(order->cpu, SCX_KICK_IDLE);
		return 0;
	}
	p = bpf_task_from_pid(order->tid);
	if (!p)
		return 0;
	thread = of(p);
	if (thread && thread->on == order->cpu + 1) {
		thread->leaves = true;
		scx_bpf_kick_cpu(order->cpu, SCX_KICK_PREEMPT);
	}
	bpf_task_release(p);
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops evenkeel = {
	.select_cpu = (void *)scx_select_cpu,
	.enqueue = (void *)scx_enqueue,
	.dispatch = (void *)scx_dispatch,
	.running = (void *)scx_running,
	.quiescent = (void *)scx_quiescent,
	.tick = (void *)scx_tick,
	.yield = (void *)scx_yield,
	.set_weight = (void *)scx_set_weight,
	.set_cpumask = (void *)scx_set_cpumask,
	.enable = (void *)scx_enable,
	.disable = (void *)scx_disable,
	.cpu_release = (void *)scx_cpu_release,
	.cpu_online = (void *)scx_cpu_online,
	.cpu_offline = (void *)scx_cpu_offline,
	.init = (void *)scx_init,
	.exit = (void *)scx_exit,
	.flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING,
	.timeout_ms = 5000,
	.name = "evenkeel",
};
