// SPDX-License-Identifier: GPL-2.0-only
/* A scheduler of sched_ext that does what a process tells it: threads that become ready wait in queues of this program until
 * the process has assigned one of them to a core. What happens to threads becomes events for the process.
 *
 * A running thread stays where it is until it blocks, gives up its core, may not use it any more, or the process has it
 * stopped: what only interrupts it, such as a thread of the kernel, is no event. If the process is late, cores take
 * what waits in turn, first what ran on their own type. If it does not answer at all, the machine is given back. */
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
#include "taken.h"

char LICENSE[] SEC("license") = "GPL";

/* A thread waits in the queue of its number, which is searched for it: with 64 queues a machine on which 500 threads wait
 * searches eight of them. A power of two. */
#define QUEUES 64
/* A running thread is checked again after so long, in ns: a tick of Debian's kernels (250 Hz), since less cannot be had. */
#define SLICE 4000000
/* How often lateness is checked, in ns: a tenth of the time after which the process is late. */
#define BEAT 2000000

/* Of a READY event. */
enum { WOKEN = 1, YIELDED = 2 };

/* To a core: the thread that it is to run. The number is written last. */
struct assignment {
	__u64 slice;
	__u32 tid;
	__u32 number;
};

/* Set before loading. */
/* The process is late when an event has waited for so long, in ns. */
const volatile __u64 late_after = 0;
/* The CPUs that the process schedules, and their core types. */
const volatile __u64 machine[MAX_CPUS / 64] = {};
const volatile __u8 type_of[MAX_CPUS] = {};

/* Written by the process. */
struct assignment assignments[MAX_CPUS] = {};

/* Read by the process. */
/* Threads that cores took because the process was late. */
__u64 taken_late = 0;

/* The number of the last assignment that each core has taken. */
static __u32 taken[MAX_CPUS];
/* Where late cores search first: after the queue that each has last taken from, so that all have their turn. */
static __u32 first_queue[MAX_CPUS];

struct thread {
	/* Its number, as the process was told. */
	__u32 tid;
	/* The core that it runs on by the process's word, plus 1. */
	__u32 on;
	/* The type of the core that it ran on last. */
	__u32 type;
	__u32 waker;
	/* Since when it has waited in a futex call. */
	__u64 futex_since;
	bool yields;
	/* It is to leave its core, and was kicked for that. */
	bool leaves;
	bool kicked;
	/* It waits in a queue, or is about to: the kernel queues it after it has been told of. */
	bool waits;
	/* It may use none of the CPUs that the process schedules: it runs where it is, at once. */
	bool outside;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

static struct thread *of(struct task_struct *p)
{
	return bpf_task_storage_get(&threads, p, 0, 0);
}

/* The same, for telling of it. A thread that calls exec has the number of its process's first thread from then on, and that one,
 * which ends, has its number (de_thread): the process is told so, and no more of the first one. */
static struct thread *named(struct task_struct *p)
{
	struct thread *thread = of(p);
	__u32 before;

	if (!thread || thread->tid == p->pid)
		return thread;
	if (p->pid != p->tgid)
		return 0;
	before = thread->tid;
	thread->tid = p->pid;
	tell(RENAMED, p, before, 0, 0);
	return thread;
}

/* Cores help themselves: the process has not begun, or is late. */
static bool late(void)
{
	return !heard || silent_for(bpf_ktime_get_ns(), late_after);
}

/* Tells of a thread, and notes whether it may use none of the CPUs that the process schedules. */
static void introduce(enum kind kind, struct task_struct *p, struct thread *thread)
{
	__u64 mask[MAX_CPUS / 64], common = 0;
	int word;

	read_mask(p, mask);
	for (word = 0; word < MAX_CPUS / 64; word++)
		common |= mask[word] & machine[word];
	thread->outside = !common;
	describe(kind, p, 0);
}

SEC("struct_ops/select_cpu")
__s32 BPF_PROG(scx_select_cpu, struct task_struct *p, __s32 previous, __u64 flags)
{
	struct thread *thread;
	bool idle = false;
	__s32 cpu;

	if (of_kernel(p)) {
		cpu = scx_bpf_select_cpu_dfl(p, previous, flags, &idle);
		if (idle)
			scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
		return cpu;
	}
	thread = of(p);
	if (thread && !in_interrupt())
		thread->waker = bpf_get_current_pid_tgid();
	return previous;
}

SEC("struct_ops/enqueue")
void BPF_PROG(scx_enqueue, struct task_struct *p, __u64 flags)
{
	__u32 cpu = scx_bpf_task_cpu(p) & (MAX_CPUS - 1), told = 0, waker;
	struct thread *thread = named(p);
	__u64 waited = 0;

	if (of_kernel(p) || !thread) {
		/* Only when it wakes up: two that preempted each other would do so for ever. */
		if (flags & SCX_ENQ_WAKEUP)
			flags |= SCX_ENQ_PREEMPT;
		insert_outside(p, SCX_SLICE_DFL, flags);
		return;
	}
	if (thread->outside) {
		if (thread->on || thread->waits)
			tell(BLOCKS, p, 0, 0, 0);
		thread->on = 0;
		thread->waits = false;
		thread->yields = false;
		insert_outside(p, SLICE, flags);
		return;
	}
	if (thread->on == cpu + 1 && !(flags & (SCX_ENQ_WAKEUP | SCX_ENQ_REENQ)) && !thread->yields && !thread->leaves && may_use(p, cpu)) {
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
	thread->waits = true;
	scx_bpf_dsq_insert(p, p->pid & (QUEUES - 1), SLICE, flags & ~SCX_ENQ_REENQ);
	tell(READY, p, told, waker, waited);
}

enum delivered { MOVED, ABSENT, KEPT };

static bool waits(__u32 tid)
{
	struct task_struct *p = bpf_task_from_pid(tid);
	struct thread *thread;
	bool found = false;

	if (p) {
		thread = of(p);
		found = thread && thread->waits;
		bpf_task_release(p);
	}
	return found;
}

/* Gives a core the thread of its assignment, if it still waits and may run there. */
static enum delivered deliver(__u32 cpu, __u32 tid, __u64 slice)
{
	struct bpf_iter_scx_dsq iterator;
	struct task_struct *p;
	enum delivered found = ABSENT;

	if (!bpf_iter_scx_dsq_new(&iterator, tid & (QUEUES - 1), 0)) {
		while ((p = bpf_iter_scx_dsq_next(&iterator))) {
			if (p->pid == tid) {
				scx_bpf_dsq_move_set_slice(&iterator, slice < SLICE ? slice : SLICE);
				found = may_use(p, cpu) && scx_bpf_dsq_move(&iterator, p, SCX_DSQ_LOCAL, 0) ? MOVED : KEPT;
				break;
			}
		}
	}
	bpf_iter_scx_dsq_destroy(&iterator);
	return found;
}

/* Takes the first thread of a queue that ran on this CPU's type last. */
static bool take_from(__u32 queue, __u32 cpu)
{
	struct bpf_iter_scx_dsq iterator;
	struct thread *thread;
	struct task_struct *p;
	bool taken = false;

	if (!bpf_iter_scx_dsq_new(&iterator, queue, 0)) {
		while (!taken && (p = bpf_iter_scx_dsq_next(&iterator))) {
			thread = of(p);
			taken = thread && thread->type == type_of[cpu] && may_use(p, cpu) &&
				scx_bpf_dsq_move(&iterator, p, SCX_DSQ_LOCAL, 0);
		}
	}
	bpf_iter_scx_dsq_destroy(&iterator);
	return taken;
}

/* Takes a thread that waits: one that ran on this CPU's type last, if there is one. */
static bool take_any(__u32 cpu)
{
	__u32 first = first_queue[cpu], queue;
	int turn;

	bpf_for(turn, 0, 2 * QUEUES) {
		queue = (first + turn) & (QUEUES - 1);
		if (turn < QUEUES ? take_from(queue, cpu) : scx_bpf_dsq_move_to_local(queue)) {
			first_queue[cpu] = queue + 1;
			/* Before the process has begun, it is not late. */
			if (heard)
				__sync_fetch_and_add(&taken_late, 1);
			return true;
		}
	}
	return false;
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
	bool back = is_back(cpu), runnable = prev && prev->scx.flags & SCX_TASK_QUEUED;
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
		if (thread && !thread->outside && !thread->yields && !thread->leaves) {
			/* While the process is late, threads take turns. */
			if (late() && take_any(core))
				thread->leaves = true;
			else
				refill(prev, SLICE);
			return;
		}
	}
	/* The kernel lends a core that a real-time thread has for 50 ms a second, no more once it finds nothing to run there: its own
	 * threads of that core would starve. */
	if ((back || late()) && take_any(core))
		return;
	if (runnable && (!thread || thread->outside)) {
		refill(prev, SLICE);
	} else if (runnable) {
		/* Should the kernel keep the thread here after all, since it exits or must not migrate now, the CPU would go idle beside it: it
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
		 * kernel itself keeps a thread there that exits, or must not migrate now. */
		if (thread->leaves && !thread->kicked) {
			thread->kicked = true;
			scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
		}
		return;
	}
	/* If it was to leave, it has: this is another turn. */
	thread->leaves = false;
	thread->kicked = false;
	thread->waits = false;
	thread->on = cpu + 1;
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
	thread->waits = false;
	thread->leaves = false;
	futex = in_futex(p);
	thread->futex_since = futex ? bpf_ktime_get_ns() : 0;
	tell(BLOCKS, p, futex, 0, 0);
}

SEC("struct_ops/yield")
bool BPF_PROG(scx_yield, struct task_struct *from, struct task_struct *to)
{
	struct thread *thread = of(from);

	if (thread && !to)
		thread->yields = true;
	return false;
}

SEC("struct_ops/enable")
void BPF_PROG(scx_enable, struct task_struct *p)
{
	struct thread *thread;

	if (of_kernel(p))
		return;
	thread = bpf_task_storage_get(&threads, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (thread) {
		thread->tid = p->pid;
		introduce(ENABLED, p, thread);
	}
}

SEC("struct_ops/disable")
void BPF_PROG(scx_disable, struct task_struct *p)
{
	if (of_kernel(p))
		return;
	if (named(p))
		tell(DISABLED, p, 0, 0, 0);
	bpf_task_storage_delete(&threads, p);
}

/* The next event of a thread that has called exec may be long in coming. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(becomes_first, struct task_struct *p)
{
	named(p);
	return 0;
}

SEC("struct_ops/set_cpumask")
void BPF_PROG(scx_set_cpumask, struct task_struct *p, const struct cpumask *mask)
{
	struct thread *thread = named(p);

	if (thread)
		introduce(MASK, p, thread);
}

SEC("struct_ops/set_weight")
void BPF_PROG(scx_set_weight, struct task_struct *p, __u32 weight)
{
	if (named(p))
		tell(WEIGHT, p, 0, 0, 0);
}

SEC("struct_ops/cpu_release")
void BPF_PROG(scx_cpu_release, __s32 cpu, struct scx_cpu_release_args *args)
{
	make_room(args);
}

SEC("struct_ops/cpu_online")
void BPF_PROG(scx_cpu_online, __s32 cpu)
{
	set_taken(cpu, false);
}

SEC("struct_ops/cpu_offline")
void BPF_PROG(scx_cpu_offline, __s32 cpu)
{
	int queue;

	is_back(cpu);
	set_taken(cpu, true);
	bpf_for(queue, 0, QUEUES)
		give_up_bound(queue, cpu);
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

static int beat(void *map, __u32 *key, struct beat *beat)
{
	__u32 cpu, cpus = scx_bpf_nr_cpu_ids();

	if (gives_up(bpf_ktime_get_ns()))
		return 0;
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
	.flags = SCX_OPS_ENQ_LAST,
	.timeout_ms = 5000,
	.name = "evenkeel",
};
