/* SPDX-License-Identifier: GPL-2.0-only */
/* Who is where: threads in task storage and their slots, cores and their queues. */
#pragma once

/* How often idle cores balance, and the process is checked, in ns: a tick of Debian's kernels (250 Hz). */
#define BEAT 4000000
/* A running thread that no other one comes before is checked again after so long, in ns: the kernel's SCX_SLICE_DFL. */
#define SLICE 20000000

/* Set before loading: the core that each CPU is, plus 1, and whether the thread that ends a wait is blamed for all of it. */
const volatile __u16 core_of_cpu[MAX_CPUS];
const volatile bool blames_waker = false;

/* Read by the process. */
struct {
	__u64 switches;
	__u64 stops;
	/* Pairs of threads that were told to exchange their cores. */
	__u64 exchanges;
	__u64 stale;
	/* Threads for which there was no slot: the kernel's default queues have them. */
	__u64 without_slot;
	__u64 longest_wait;
	__u64 longest_idle;
	__u64 longest_misplaced;
	/* How long threads waited in futex calls for others that are known. */
	__u64 blamed;
	/* How often the governor of frequencies was told how much of a core is used. */
	__u64 frequencies;
	__u64 big;
	__u64 little;
} figures = {};

/* Read by the process: how far its clock is ahead of the scheduler's, by which moments of threads are noted. */
__s64 clock_ahead = 0;

/* What only this part knows of a thread. */
struct own {
	/* The core that it runs on, plus 1, also while it is interrupted. */
	__u32 on;
	/* The core that it is to leave its own for, plus 1. */
	__u32 goes;
	/* The thread that gives way to it where it goes, and comes to where it was. */
	__u32 swaps;
	/* The core that it was dealt to when it was woken, plus 1. */
	__u32 dealt;
	/* Who woke it last, if a thread did. */
	__u32 waker;
	/* Since when it has waited in a futex call. */
	__u64 futex_since;
	/* When its last wait in the futex call ended, if a thread ended it, and which. */
	__u64 released;
	__u32 released_by;
	/* What the kernel had counted at the last account. */
	__u64 counted;
	/* Since when it is on its way to another core, if it is. */
	__u64 moves_since;
	bool begun;
	bool yields;
	/* It is to give way to another thread of its core. */
	bool leaves;
	/* It was told so a second time. */
	bool stays;
};

static struct own owns[THREADS];

static __always_inline struct own *own_at(__u32 slot)
{
	return &owns[slot & (THREADS - 1)];
}

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} slots SEC(".maps");

/* A thread's slot, 0 if it has none. */
static __u32 slot_of(struct task_struct *p)
{
	__u32 *slot = bpf_task_storage_get(&slots, p, 0, 0);

	return slot ? *slot : 0;
}

DECISION __u32 first_in_queue(__u32 core)
{
	struct task_struct *p;
	__u32 slot;

	if (bpf_ksym_exists(scx_bpf_dsq_peek)) {
		p = scx_bpf_dsq_peek(core);
		return p ? slot_of(p) : 0;
	}
	FOR_WAITING(slot, core)
		return slot;
	return 0;
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

/* Has an idle core fetch a thread that waits for another one. */
DECISION int kick_idle_for(__u32 slot)
{
	__u32 core;

	bpf_for(core, 0, machine.cores) {
		if (idle(core) && may_run_on(slot, core) && !is_occupied(cpu_of(core))) {
			kick(core, SCX_KICK_IDLE);
			break;
		}
	}
	return 0;
}

/* How many cores cannot be used. */
static __u32 cores_away;

/* A core cannot be used by threads of this class, or can again. */
static void set_taken(__s32 cpu, bool is)
{
	__u32 core = core_of(cpu);
	__u64 *word = &away[core / 64 & (CORES / 64 - 1)], bit = 1ULL << (core % 64);

	if (core == NO_CORE)
		return;
	if (is && !(__sync_fetch_and_or(word, bit) & bit))
		__sync_fetch_and_add(&cores_away, 1);
	if (!is && __sync_fetch_and_and(word, ~bit) & bit)
		__sync_fetch_and_sub(&cores_away, 1);
}

/* Whether a thread was told to give way. An order to go elsewhere is in force as soon as it is there, and until the thread has gone. */
static __always_inline bool must_leave(__u32 slot)
{
	return own_at(slot)->leaves || own_at(slot)->goes;
}

/* A thread is on no core any more, and nothing that it was told holds. */
static __always_inline void is_off(__u32 slot)
{
	struct own *own = own_at(slot);

	own->on = own->goes = own->swaps = own->dealt = 0;
	own->yields = own->leaves = own->stays = false;
}

/* By core: since when it has had nothing to run. */
static __u64 idle_since[CORES];

DECISION int set_current(__u32 core, __u32 slot)
{
	if (!slot && core_at(core)->current)
		idle_since[core & (CORES - 1)] = NOW;
	if (reads_usage)
		note_use(core, NOW);
	core_at(core)->current = slot;
	core_at(core)->leaves = 0;
	core_at(core)->weight = slot ? thread_at(slot)->weight : 0;
	return 0;
}

/* How much a thread may have: groups' weights change without a word. */
static void reweigh(struct task_struct *p, __u32 slot)
{
	struct thread *t = thread_at(slot);
	__u64 weight = weight_of(p);

	if (t->weight == weight)
		return;
	t->weight = weight;
	if (t->run == RUNNING && core_at(t->core)->current == slot)
		core_at(t->core)->weight = weight;
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

/* A thread waits for a core from now on. */
DECISION int join_queue(__u32 slot, __u32 core, __u64 now)
{
	struct thread *t = thread_at(slot);

	note_place(slot, core, true, now);
	t->since = now;
	t->run = WAITING;
	t->queued_weight = t->weight;
	__sync_fetch_and_add(&core_at(core)->queued, 1);
	__sync_fetch_and_add(&core_at(core)->queue_weight, t->queued_weight);
	return 0;
}

/* A thread has waited for so long for a core. */
static __always_inline void note_wait(__u64 waits)
{
	if (waits > figures.longest_wait)
		figures.longest_wait = waits;
}

/* A thread is about to run, or was sent to run, on a core. */
DECISION int begins(__u32 slot, __u32 core, __u64 now)
{
	struct thread *t = thread_at(slot);
	__u64 waits = since(now, t->since);

	t->waited += waits;
	note_wait(waits);
	if (reads_usage)
		accrue(&t->load, now, PELT_FULL);
	note_place(slot, core, true, now);
	t->since = now;
	t->stint = 0;
	t->run = RUNNING;
	/* Not before that. */
	__sync_lock_test_and_set(&t->claims, 0);
	set_current(core, slot);
	__sync_fetch_and_add(&figures.switches, 1);
	return 0;
}

/* A span of running is over, or is accounted for while it goes on. */
static void account(struct task_struct *p, __u32 slot, __u64 now)
{
	struct thread *t = thread_at(slot);
	struct own *own = own_at(slot);
	__u64 counted = p->se.sum_exec_runtime, ran = since(counted, own->counted);
	__u32 core = t->core, first;
	__s64 floor;

	own->counted = counted;
	if (!ran)
		return;
	t->vruntime += hook_charge(slot, core, ran);
	t->executed += ran;
	t->on_type[place_of(core)->type & (TYPES - 1)] += ran;
	t->stint += ran;
	t->last_ran = now;
	__sync_fetch_and_add(is_big(core) ? &figures.big : &figures.little, ran);
	note_run(slot, core, ran, now);
	first = first_waiting(core);
	floor = first && thread_at(first)->vruntime < t->vruntime ? thread_at(first)->vruntime : t->vruntime;
	if (floor > core_at(core)->min_vruntime)
		core_at(core)->min_vruntime = floor;
}
