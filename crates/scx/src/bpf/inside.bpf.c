// SPDX-License-Identifier: GPL-2.0-only
/* A scheduler of sched_ext that decides by itself, inside the kernel: where threads wait, which one a core runs next, for how
 * long, and which running one gives way. What takes longer, labels and where a thread should be at all, a process writes
 * beside each thread once a period.
 *
 * Each core has a queue, ordered by vruntime. A thread that becomes ready and finds its core idle goes there at once. One that
 * is to leave its core for another one (`goes`) is stopped, and queued there when it has. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "calls.h"
#include "interrupts.h"
#include "ext.h"
#include "report.h"
#include "policy/hooks.h"

char LICENSE[] SEC("license") = "GPL";

/* A running thread that nobody wants to give way is looked at again after so long, in ns: the kernel's SCX_SLICE_DFL. */
#define SLICE 20000000
/* How often idle cores balance, and the process is looked for, in ns: a tick of Debian's kernels (250 Hz). */
#define BEAT 4000000
#define CLOCK_MONOTONIC 1
/* After so many intervals in vain a running thread is moved: `PATIENCE` of sched/src/policy/parts/fair.rs. */
#define PATIENCE 3
/* How often a core tries again when another one was faster (assumed: then it waits for the next beat). */
#define TRIES 4

/* Set before loading: the core that each CPU is, plus 1. */
const volatile __u16 core_of_cpu[MAX_CPUS];
/* Whether the policy reads how much threads use. */
const volatile bool reads_usage = false;

/* No set: what is asked of it does not matter. */
const volatile __u64 everything[MAX_CPUS / 64] = {};

/* Read by the process. */
struct {
	__u64 switches;
	__u64 stops;
	__u64 stale;
	/* Threads for which there was no slot: the kernel's default queues have them. */
	__u64 without_slot;
	__u64 longest_wait;
	__u64 big;
	__u64 little;
} figures = {};

/* What only this part knows of a thread. */
struct own {
	__u32 slot;
	/* The core that it runs on, plus 1, also while it is interrupted. */
	__u32 on;
	/* The core that it is to leave its own for, plus 1. */
	__u32 goes;
	/* The core that it was dealt to when it was woken, plus 1. */
	__u32 dealt;
	/* Since when it has waited in a futex call. */
	__u64 futex_since;
	/* What the kernel had counted at the last look. */
	__u64 counted;
	bool begun;
	bool yields;
	/* It is to give way to another thread of its core, or to go to another one. */
	bool leaves;
	/* It was told so a second time. */
	bool stays;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct own);
} owns SEC(".maps");

struct beat {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct beat);
} beats SEC(".maps");

/* How much each core is used, decaying. */
static struct pelt used[CORES];

static struct own *of(struct task_struct *p)
{
	return bpf_task_storage_get(&owns, p, 0, 0);
}

static __u32 slot_of(struct task_struct *p)
{
	struct own *own = of(p);

	return own ? own->slot : 0;
}

/* The core that a CPU is; NO_CORE if it is none of the machine's. */
static __always_inline __u32 core_of(__s32 cpu)
{
	return (__u32)core_of_cpu[cpu & (MAX_CPUS - 1)] - 1;
}

static __always_inline __s32 cpu_of(__u32 core)
{
	return place_of(core)->cpu;
}

static __always_inline void kick(__u32 core, __u64 how)
{
	scx_bpf_kick_cpu(cpu_of(core), how);
}

/* How much a core is used has changed: what it does now counts from here on. */
DECISION int note_use(__u32 core, __u64 now)
{
	struct pelt *load = &used[core & (CORES - 1)];

	if (!reads_usage)
		return 0;
	accrue(load, now, core_at(core)->current ? place_of(core)->capacity : 0);
	core_at(core)->used = load_of(load);
	return 0;
}

DECISION int set_current(__u32 core, __u32 slot)
{
	note_use(core, bpf_ktime_get_ns());
	core_at(core)->current = slot;
	core_at(core)->weight = slot ? thread_at(slot)->weight : 0;
	return 0;
}

/* A core has no thread any more, if it was this one. */
static void vacate(__u32 core, __u32 slot)
{
	if (core_at(core)->current == slot)
		set_current(core, 0);
}

DECISION int leave_queue(__u32 slot)
{
	struct thread *t = thread_at(slot);
	struct core *core = core_at(t->core);

	if (t->run != WAITING)
		return 0;
	__sync_fetch_and_sub(&core->queued, 1);
	__sync_fetch_and_sub(&core->queue_weight, t->queued_weight);
	t->run = BLOCKED;
	return 0;
}

/* A span of running is over, or looked at. */
static void account(struct task_struct *p, struct own *own, __u64 now)
{
	struct thread *t = thread_at(own->slot);
	__u64 counted = p->se.sum_exec_runtime, ran = since(counted, own->counted);
	__u32 core = t->core, first;
	__s64 floor;

	own->counted = counted;
	if (!ran)
		return;
	t->vruntime += hook_charge(own->slot, core, ran);
	t->executed += ran;
	t->on_type[place_of(core)->type & (TYPES - 1)] += ran;
	t->stint += ran;
	t->last_ran = now;
	__sync_fetch_and_add(is_big(core) ? &figures.big : &figures.little, ran);
	if (reads_usage) {
		accrue(&t->load, since(now, ran), 0);
		accrue(&t->load, now, PELT_FULL);
		accrue(&t->usage, since(now, ran), 0);
		accrue(&t->usage, now, place_of(core)->capacity);
		note_use(core, now);
	}
	first = first_waiting(core);
	floor = first && thread_at(first)->vruntime < t->vruntime ? thread_at(first)->vruntime : t->vruntime;
	if (floor > core_at(core)->min_vruntime)
		core_at(core)->min_vruntime = floor;
}

/* A thread is about to run, or was sent to run, on a core. */
DECISION int begins(__u32 slot, __u32 core, __u64 now)
{
	struct thread *t = thread_at(slot);
	__u64 waits = since(now, t->since);

	t->waited += waits;
	if (waits > figures.longest_wait)
		figures.longest_wait = waits;
	if (reads_usage)
		accrue(&t->load, now, PELT_FULL);
	t->since = now;
	t->stint = 0;
	t->core = core;
	t->run = RUNNING;
	set_current(core, slot);
	__sync_fetch_and_add(&figures.switches, 1);
	return 0;
}

/* The thread that runs on a core is to give way, to go to another core if `to` is one. */
DECISION int stop(__u32 core, __u32 to)
{
	__u32 slot = core_at(core)->current, tid = slot ? thread_at(slot)->tid : 0;
	struct task_struct *p = tid ? bpf_task_from_pid(tid) : 0;
	struct own *own;

	if (!p)
		return 0;
	own = of(p);
	if (own && own->slot == slot && thread_at(slot)->run == RUNNING) {
		own->leaves = true;
		if (to != NO_CORE)
			own->goes = to + 1;
		__sync_fetch_and_add(&figures.stops, 1);
		kick(core, SCX_KICK_PREEMPT);
	}
	bpf_task_release(p);
	return 0;
}

/* A thread that waits, or runs, elsewhere is to go to a core. */
static void fetch(__u32 slot, __u32 to)
{
	__u32 from = thread_at(slot)->core;

	if (core_at(from)->current == slot)
		stop(from, to);
}

/* Whether a thread that waits for a core runs there at once. */
DECISION int check_preemption(__u32 slot, __u32 core)
{
	__u32 running = core_at(core)->current;

	if (!running)
		kick(core, SCX_KICK_IDLE);
	else if (hook_preempts(slot, running, core))
		stop(core, NO_CORE);
	return 0;
}

/* Who wakes a thread, if a thread does: its slot. */
static __u32 waker_slot(void)
{
	struct own *own = of(bpf_get_current_task_btf());

	return own && own->on && !in_interrupt() ? own->slot : 0;
}

/* A thread was woken: what it waited for, and who made it wait. */
static void end_wait(struct own *own, __u32 waker, __u64 now)
{
	struct thread *t = thread_at(own->slot);
	__u64 waited = own->futex_since ? since(now, own->futex_since) : 0;

	own->futex_since = 0;
	if (reads_usage)
		accrue(&t->load, now, own->begun ? 0 : PELT_FULL);
	if (!waited)
		return;
	t->contended += waited;
	if (waker && waker != own->slot)
		__sync_fetch_and_add(&thread_at(waker)->blame, waited);
}

SEC("struct_ops/select_cpu")
__s32 BPF_PROG(inside_select_cpu, struct task_struct *p, __s32 previous, __u64 flags)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 core, near, why, waker;
	struct own *own = of(p);
	bool idle_cpu = false;
	struct thread *t;
	__s32 cpu;

	if (of_kernel(p) || !own || !own->slot) {
		cpu = scx_bpf_select_cpu_dfl(p, previous, flags, &idle_cpu);
		if (idle_cpu)
			scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
		return cpu;
	}
	t = thread_at(own->slot);
	waker = waker_slot();
	near = waker && thread_at(waker)->run == RUNNING ? thread_at(waker)->core : NO_CORE;
	why = own->begun ? WOKEN : NEW;
	end_wait(own, waker, now);
	core = hook_place(own->slot, why, near);
	if (core == NO_CORE || !may_run_on(own->slot, core) || !may_use(p, cpu_of(core)))
		return previous;
	own->dealt = core + 1;
	if (idle(core) && __sync_val_compare_and_swap(&core_at(core)->current, 0, own->slot) == 0) {
		t->vruntime = hook_enter(own->slot, core, why);
		t->since = now;
		begins(own->slot, core, now);
		own->begun = true;
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SLICE, 0);
	}
	return cpu_of(core);
}

SEC("struct_ops/enqueue")
void BPF_PROG(inside_enqueue, struct task_struct *p, __u64 flags)
{
	__u32 cpu = scx_bpf_task_cpu(p), core, why, from, waker, near = NO_CORE;
	__u64 now = bpf_ktime_get_ns();
	struct own *own = of(p);
	struct thread *t;

	if (of_kernel(p) || !own || !own->slot) {
		/* Only when it wakes up: two that preempted each other would do so for ever. */
		if (of_kernel(p) && flags & SCX_ENQ_WAKEUP)
			flags |= SCX_ENQ_PREEMPT;
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, flags);
		return;
	}
	t = thread_at(own->slot);
	from = t->core;
	if (own->on == cpu + 1 && !(flags & SCX_ENQ_WAKEUP) && !own->yields && !own->leaves && may_use(p, cpu) &&
	    may_run_on(own->slot, core_of(cpu))) {
		/* It was only interrupted. */
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SLICE, flags | SCX_ENQ_HEAD);
		return;
	}
	if (t->run == RUNNING)
		vacate(t->core, own->slot);
	leave_queue(own->slot);
	if (!own->begun) {
		why = NEW;
	} else if (flags & SCX_ENQ_WAKEUP) {
		why = WOKEN;
	} else if (own->goes) {
		why = TAKEN;
		near = own->goes - 1;
	} else {
		why = own->yields ? YIELDED : PREEMPTED;
	}
	if ((why == NEW || why == WOKEN) && !own->dealt) {
		/* It may use one CPU only, and was not asked where it should be. */
		waker = waker_slot();
		near = waker ? thread_at(waker)->core : NO_CORE;
		end_wait(own, waker, now);
	}
	core = own->dealt ? own->dealt - 1 : hook_place(own->slot, why, near);
	if (core == NO_CORE || !may_run_on(own->slot, core) || !may_use(p, cpu_of(core)))
		core = fair_least(own->slot, ALL);
	own->on = own->goes = own->dealt = 0;
	own->yields = own->leaves = own->stays = false;
	own->begun = true;
	if (core == NO_CORE || !may_use(p, cpu_of(core))) {
		/* It may use no core of the machine's, or none that the policy wants. */
		t->run = BLOCKED;
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SLICE, flags);
		return;
	}
	t->vruntime = hook_enter(own->slot, core, why);
	t->core = core;
	t->since = now;
	t->run = WAITING;
	__sync_fetch_and_add(&core_at(core)->queued, 1);
	t->queued_weight = t->weight;
	__sync_fetch_and_add(&core_at(core)->queue_weight, t->queued_weight);
	scx_bpf_dsq_insert_vtime(p, core, SLICE, t->vruntime, flags);
	if (why == NEW || why == WOKEN || (core != from && why != TAKEN))
		check_preemption(own->slot, core);
	else if (!core_at(core)->current)
		kick(core, SCX_KICK_IDLE);
}

/* Gives a core a thread that waits, if it still does. */
DECISION int move(__u32 slot, __u32 core)
{
	struct thread *t = thread_at(slot);
	struct bpf_iter_scx_dsq iterator;
	struct task_struct *p;
	__u32 from = t->core;
	int moved = 0;
	__s64 vruntime = from == core ? t->vruntime : hook_enter(slot, core, TAKEN);

	if (!bpf_iter_scx_dsq_new(&iterator, from, 0)) {
		while ((p = bpf_iter_scx_dsq_next(&iterator))) {
			if (slot_of(p) != slot)
				continue;
			scx_bpf_dsq_move_set_slice(&iterator, SLICE);
			moved = may_use(p, cpu_of(core)) && scx_bpf_dsq_move(&iterator, p, SCX_DSQ_LOCAL, 0);
			break;
		}
	}
	bpf_iter_scx_dsq_destroy(&iterator);
	if (moved) {
		leave_queue(slot);
		t->vruntime = vruntime;
		begins(slot, core, bpf_ktime_get_ns());
	} else {
		__sync_fetch_and_add(&figures.stale, 1);
	}
	return moved;
}

/* Lets a core balance. Returns whether it takes over a running thread. */
DECISION int rebalance(__u32 core)
{
	__u64 chosen = hook_balance(core);
	__u32 pick = chosen >> 32, slot = (__u32)chosen;
	struct core *at = core_at(core);
	__u64 now = bpf_ktime_get_ns();
	bool due_in_all = balance_due(core, place_of(core)->levels - 1), takes = false;
	__u32 level, other, here = at->current;

	if (pick == TAKE && at->failed >= PATIENCE) {
		at->failed = PATIENCE - 1;
		takes = true;
		fetch(slot, core);
	} else if (pick == TAKE) {
		at->failed++;
	} else if (pick == EXCHANGE && here) {
		other = thread_at(slot)->core;
		fetch(slot, core);
		stop(core, other);
	} else if (pick == QUEUED) {
		at->failed = 0;
		/* An idle core fetches it, as it does whatever waits. */
		if (!here)
			kick(core, SCX_KICK_IDLE);
	} else if (due_in_all) {
		at->failed = 0;
	}
	bpf_for(level, 0, LEVELS) {
		if (level < place_of(core)->levels && balance_due(core, level))
			at->balanced[level] = now;
	}
	return takes;
}

SEC("struct_ops/dispatch")
void BPF_PROG(inside_dispatch, __s32 cpu, struct task_struct *prev)
{
	__u32 core = core_of(cpu), try;
	__u32 pick = IDLE, slot = 0;
	__u64 chosen;
	struct own *own = 0;

	if (core == NO_CORE)
		return;
	if (prev && prev->scx.flags & SCX_TASK_QUEUED)
		own = of(prev);
	if (own && own->slot && !own->yields && !own->leaves && may_run_on(own->slot, core)) {
		refill(prev, SLICE);
		return;
	}
	bpf_for(try, 0, TRIES) {
		chosen = hook_pick(core);
		pick = chosen >> 32;
		slot = (__u32)chosen;
		if (pick != QUEUED || move(slot, core))
			break;
	}
	if (pick == QUEUED)
		return;
	if (own && own->slot && !own->goes && may_run_on(own->slot, core)) {
		/* Nobody wants its place, or not any more. */
		own->leaves = own->yields = own->stays = false;
		refill(prev, SLICE);
		return;
	}
	if (own)
		return;
	set_current(core, 0);
	if (pick == TAKE)
		fetch(slot, core);
	else
		rebalance(core);
}

SEC("struct_ops/running")
void BPF_PROG(inside_running, struct task_struct *p)
{
	__s32 cpu = scx_bpf_task_cpu(p);
	__u32 core = core_of(cpu);
	struct own *own = of(p);

	if (!own || !own->slot || core == NO_CORE)
		return;
	own->counted = p->se.sum_exec_runtime;
	if (own->leaves && !own->stays) {
		/* It was told to leave while something else ran in its place. */
		own->stays = true;
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	} else if (own->leaves) {
		/* The kernel has put it back by itself: it exits, or may not move now. */
		own->leaves = own->stays = false;
		own->goes = 0;
	}
	if (own->on == cpu + 1)
		return;
	own->on = cpu + 1;
	own->dealt = 0;
	if (core_at(core)->current != own->slot || thread_at(own->slot)->run != RUNNING) {
		/* The kernel runs it where nobody has sent it. */
		leave_queue(own->slot);
		begins(own->slot, core, bpf_ktime_get_ns());
	}
}

SEC("struct_ops/stopping")
void BPF_PROG(inside_stopping, struct task_struct *p, bool runnable)
{
	struct own *own = of(p);

	if (own && own->slot && own->on)
		account(p, own, bpf_ktime_get_ns());
}

SEC("struct_ops/quiescent")
void BPF_PROG(inside_quiescent, struct task_struct *p, __u64 flags)
{
	__u64 now = bpf_ktime_get_ns();
	struct own *own = of(p);
	struct thread *t;

	if (!own || !own->slot)
		return;
	t = thread_at(own->slot);
	leave_queue(own->slot);
	/* What is only changed is queued again at once. */
	if (!(flags & SCX_DEQ_SLEEP))
		return;
	if (t->run == RUNNING)
		vacate(t->core, own->slot);
	t->run = BLOCKED;
	t->since = now;
	own->on = own->goes = own->dealt = 0;
	own->yields = own->leaves = own->stays = false;
	own->futex_since = in_futex(p) ? now : 0;
	if (reads_usage)
		t->estimate = load_of(&t->usage) > t->estimate ? load_of(&t->usage) :
			      t->estimate - (t->estimate - load_of(&t->usage)) / 4;
}

SEC("struct_ops/tick")
void BPF_PROG(inside_tick, struct task_struct *p)
{
	__s32 cpu = scx_bpf_task_cpu(p);
	__u32 core = core_of(cpu), other, first;
	struct own *own = of(p);

	if (!own || !own->slot || core == NO_CORE || own->on != cpu + 1)
		return;
	account(p, own, bpf_ktime_get_ns());
	if (core_at(core)->queued && hook_expired(own->slot, core)) {
		own->leaves = true;
		refill(p, 0);
	}
	rebalance(core);
	if (!core_at(core)->queued)
		return;
	/* A thread waits here while a core sleeps. */
	first = first_waiting(core);
	bpf_for(other, 0, machine.cores) {
		if (first && idle(other) && may_run_on(first, other)) {
			kick(other, SCX_KICK_IDLE);
			break;
		}
	}
}

SEC("struct_ops/yield")
bool BPF_PROG(inside_yield, struct task_struct *from, struct task_struct *to)
{
	struct own *own = of(from);

	if (own && !to)
		own->yields = true;
	return false;
}

/* The first free slot from a turn on. */
static __u32 turn;

DECISION __u32 take_slot(__u32 tid)
{
	__u32 try, slot;

	bpf_for(try, 1, THREADS) {
		slot = __sync_fetch_and_add(&turn, 1) & (THREADS - 1);
		if (slot && __sync_val_compare_and_swap(&thread_at(slot)->tid, 0, tid) == 0)
			return slot;
	}
	__sync_fetch_and_add(&figures.without_slot, 1);
	return 0;
}

static const __u32 weights[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
	3906,  3121,  2501,  1991,  1586,  1277,  1024,	 820,	655,   526,   423,  335,  272,	215,
	172,   137,   110,   87,    70,	   56,	  45,	 36,	29,    23,    18,   15,
};

/* Linux's sched_prio_to_weight. */
static __u64 weight_of(struct task_struct *p)
{
	__u32 nice = p->static_prio - 100;

	return nice < 40 ? weights[nice] : 1024;
}

/* The cores that a program allows a thread. */
static void set_mask(struct task_struct *p, struct thread *t)
{
	__u32 core, word;

	bpf_for(word, 0, CORES / 64)
		t->may[word & (CORES / 64 - 1)] = 0;
	bpf_for(core, 0, machine.cores) {
		if (bpf_cpumask_test_cpu(cpu_of(core), &p->cpus_mask))
			t->may[core / 64 & (CORES / 64 - 1)] |= 1ULL << (core % 64);
	}
}

SEC("struct_ops/enable")
void BPF_PROG(inside_enable, struct task_struct *p)
{
	__u32 core = core_of(scx_bpf_task_cpu(p)), slot, word;
	__u64 now = bpf_ktime_get_ns();
	struct own *own;
	struct thread *t;

	if (of_kernel(p))
		return;
	own = bpf_task_storage_get(&owns, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	slot = own ? take_slot(p->pid) : 0;
	if (!slot)
		return;
	t = thread_at(slot);
	t->vruntime = t->progress = 0;
	t->stint = t->executed = t->waited = t->contended = t->blame = t->last_ran = t->urgency = 0;
	t->speedup = t->group = t->dominance = t->estimate = 0;
	__builtin_memset(t->on_type, 0, sizeof(t->on_type));
	t->weight = weight_of(p);
	t->run = BLOCKED;
	t->core = core == NO_CORE ? 0 : core;
	t->since = now;
	__builtin_memset(&t->load, 0, sizeof(t->load));
	__builtin_memset(&t->usage, 0, sizeof(t->usage));
	t->load.average = PELT_ONE;
	t->usage.average = PELT_ONE / 2 * (core == NO_CORE ? 0 : place_of(core)->capacity) / PELT_FULL;
	t->load.last = t->usage.last = now;
	bpf_for(word, 0, CORES / 64)
		t->wanted[word & (CORES / 64 - 1)] = ~0ULL;
	set_mask(p, t);
	own->counted = p->se.sum_exec_runtime;
	own->on = own->goes = own->dealt = 0;
	own->futex_since = 0;
	own->begun = own->yields = own->leaves = own->stays = false;
	own->slot = slot;
	describe(ENABLED, p, slot, everything);
}

SEC("struct_ops/disable")
void BPF_PROG(inside_disable, struct task_struct *p)
{
	struct own *own = of(p);
	struct thread *t;

	if (!own)
		return;
	if (own->slot) {
		t = thread_at(own->slot);
		leave_queue(own->slot);
		vacate(t->core, own->slot);
		tell(DISABLED, p, own->slot, 0, 0);
		/* Its slot is free when the process has read what it did. */
		t->run = BLOCKED;
		own->slot = 0;
	}
	bpf_task_storage_delete(&owns, p);
}

SEC("struct_ops/set_cpumask")
void BPF_PROG(inside_set_cpumask, struct task_struct *p, const struct cpumask *mask)
{
	struct own *own = of(p);

	if (!own || !own->slot)
		return;
	set_mask(p, thread_at(own->slot));
	describe(MASK, p, own->slot, everything);
}

SEC("struct_ops/set_weight")
void BPF_PROG(inside_set_weight, struct task_struct *p, __u32 weight)
{
	struct own *own = of(p);

	if (!own || !own->slot)
		return;
	thread_at(own->slot)->weight = weight_of(p);
	tell(WEIGHT, p, own->slot, 0, 0);
}

static void switch_core(__s32 cpu, bool on)
{
	__u32 core = core_of(cpu);

	if (core == NO_CORE)
		return;
	if (on)
		__sync_fetch_and_and(&offline[core / 64 & (CORES / 64 - 1)], ~(1ULL << (core % 64)));
	else
		__sync_fetch_and_or(&offline[core / 64 & (CORES / 64 - 1)], 1ULL << (core % 64));
}

SEC("struct_ops/cpu_online")
void BPF_PROG(inside_cpu_online, __s32 cpu)
{
	switch_core(cpu, true);
	tell_of_cpu(ONLINE, cpu, 0, 0);
}

SEC("struct_ops/cpu_offline")
void BPF_PROG(inside_cpu_offline, __s32 cpu)
{
	switch_core(cpu, false);
	tell_of_cpu(OFFLINE, cpu, 0, 0);
}

/* Not constant: the verifier takes it for memory that is written to. */
static char stopped[] = "the process that decides has stopped";

static int beat(void *map, __u32 *key, struct beat *beat)
{
	__u64 now = bpf_ktime_get_ns();
	unsigned long long none = 0;
	bool busy = false;
	__u32 core;

	if (heard && silent_for(now, gone_after)) {
		scx_bpf_error_bstr(stopped, &none, 0);
		return 0;
	}
	/* Idle cores have no tick of their own: those that may have something to fetch look for it. */
	bpf_for(core, 0, machine.cores) {
		busy |= !idle(core);
	}
	bpf_for(core, 0, machine.cores) {
		if (busy && idle(core) && (machine.policy == GTS || balance_due(core, 0)))
			kick(core, SCX_KICK_IDLE);
	}
	bpf_timer_start(&beat->timer, BEAT, 0);
	return 0;
}

SEC("struct_ops.s/init")
__s32 BPF_PROG(inside_init)
{
	__u32 zero = 0, core;
	struct beat *first = bpf_map_lookup_elem(&beats, &zero);
	__s32 error;

	bpf_for(core, 0, machine.cores) {
		error = scx_bpf_create_dsq(core, -1);
		if (error)
			return error;
	}
	if (!first)
		return -2;
	bpf_timer_init(&first->timer, &beats, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&first->timer, beat);
	return bpf_timer_start(&first->timer, BEAT, 0);
}

SEC("struct_ops/exit")
void BPF_PROG(inside_exit, struct scx_exit_info *info)
{
	note_exit(info);
}

struct performance {
	__s32 cpu;
	__u32 level;
};

SEC("syscall")
int perform(struct performance *order)
{
	scx_bpf_cpuperf_set(order->cpu, order->level);
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops evenkeel = {
	.select_cpu = (void *)inside_select_cpu,
	.enqueue = (void *)inside_enqueue,
	.dispatch = (void *)inside_dispatch,
	.running = (void *)inside_running,
	.stopping = (void *)inside_stopping,
	.quiescent = (void *)inside_quiescent,
	.tick = (void *)inside_tick,
	.yield = (void *)inside_yield,
	.set_weight = (void *)inside_set_weight,
	.set_cpumask = (void *)inside_set_cpumask,
	.enable = (void *)inside_enable,
	.disable = (void *)inside_disable,
	.cpu_online = (void *)inside_cpu_online,
	.cpu_offline = (void *)inside_cpu_offline,
	.init = (void *)inside_init,
	.exit = (void *)inside_exit,
	.flags = SCX_OPS_ENQ_LAST,
	.timeout_ms = 5000,
	.name = "evenkeel",
};
