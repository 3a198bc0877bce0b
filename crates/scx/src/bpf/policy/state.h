/* SPDX-License-Identifier: GPL-2.0-only */
/* What decisions read: the machine, its cores, and the threads. The policies beside this file decide from it as the scheduler
 * core of Evenkeel does from its own `State`, in the kernel and, for the comparison with that core, in a test program: what
 * they need of either is in this file.
 *
 * Times in ns, capacities of 1024, speedups and rates in 1024ths. A core is known by its place in the machine, a thread by
 * its slot; 0 is no thread. */
#pragma once

#define CORES 1024
#define THREADS 32768
#define LEVELS 3
#define TYPES 8
/* Operating points of a core type: more than any machine has. */
#define STEPS 64
/* Knobs that a policy here may have. */
#define CHOICES 5
#define NUMBERS 2
#define NO_CORE 0xffffffffU
#define ONE 1024

enum policy { CFS, FCF, BIAS, PFS, GTS, WASH, COLAB, EAS };

/* Which cores are around a core, or are all of a kind. */
enum domain { CACHE, NODE, ALL, BIG, LITTLE };

enum why { NEW, WOKEN, PREEMPTED, YIELDED, TAKEN };

enum run { BLOCKED, WAITING, RUNNING };

/* Which cores COLAB deals a thread to. */
enum group { EITHER, TO_BIG, TO_LITTLE };

/* What a core should do, and with which thread: picked(), exchanged(). */
enum pick { IDLE, QUEUED, TAKE, EXCHANGE };

/* A core of the machine. */
struct place {
	__u32 cpu;
	/* 0 is the fastest. */
	__u32 type;
	__u32 capacity;
	__u32 cache;
	__u32 node;
	__u32 cluster;
	/* The domains around it, smallest first; those that are the same cores are one. */
	__u32 levels;
	__u32 domains[LEVELS];
	__u32 sizes[LEVELS];
};

/* From which use of a cluster's busiest core on it has a frequency, and what a unit of use costs there, in units of 2^-40 W. */
struct step {
	__u32 from;
	__u64 power;
};

/* Set before loading. */
struct machine {
	__u32 policy;
	__u32 cores;
	__u32 caches;
	__u32 clusters;
	/* Core types, and what the smallest can. */
	__u32 types;
	__u32 least;
	/* Big cores are as many times as fast as the smallest, unless a thread's own prediction says otherwise. */
	__u32 speedup;
	/* CFS's scaling of its constants by the number of cores. */
	__u32 scale;
	/* What the policy's knobs are set to, which it lists itself. */
	__u32 choices[CHOICES];
	/* The same of its knobs that are whole numbers, and of its knob of time, in ns. */
	__u32 numbers[NUMBERS];
	__s64 span;
	struct place places[CORES];
	/* EAS: by core type; after the last one are zeros. */
	struct step steps[TYPES][STEPS];
};

struct pelt {
	__u64 average;
	__u64 elapsed;
	__u64 counted;
	__u64 last;
};

/* A core, as it is now. */
struct core {
	__s64 min_vruntime;
	__u64 balanced[LEVELS];
	/* Of the threads that wait, and of the one that runs. */
	__u64 queue_weight;
	__u64 weight;
	__u32 queued;
	/* Who runs there or has been sent there, and who of these has been told to go to another core. */
	__u32 current;
	__u32 leaves;
	/* How often in a row it balanced in vain. */
	__u32 failed;
	/* How much its threads use it, those that sleep included, and what those that do not sleep are going to need. */
	__u32 used;
	__u32 expected;
};

struct thread {
	/* By the kernel's part. */
	__s64 vruntime;
	__u64 weight;
	/* What it had when it was queued. */
	__u64 queued_weight;
	__u64 since;
	__u64 last_ran;
	__u64 stint;
	__u64 executed;
	/* The same by core type. */
	__u64 on_type[TYPES];
	__u64 waited;
	__u64 contended;
	/* For how long others waited for it. */
	__u64 blame;
	/* PFS: what it has achieved, in ns on a big core. */
	__s64 progress;
	struct pelt load;
	struct pelt usage;
	__u32 tid;
	__u32 run;
	/* Where it runs, waits, or was last. */
	__u32 core;
	/* The idle core that it claims when it is woken, plus 1, until it runs there. */
	__u32 claims;
	/* By the process, once a period: the predicted speedup, 0 if there is none; COLAB's labels, the urgency in 1024ths of
	 * a ns; for bias scheduling how far stalls dominate it, in units of 2^-20, plus 1, 0 if that is not known. */
	__u32 speedup;
	__u64 urgency;
	__u32 group;
	__u32 dominance;
	/* What usage usually is when it blocks, and what it is going to need, if it does not sleep. */
	__u32 estimate;
	__u32 expected;
	/* The cores that the program and the policy allow it. */
	__u64 may[CORES / 64];
	__u64 wanted[CORES / 64];
};

#if defined(__bpf__)

const volatile struct machine machine;
struct core cores[CORES] = {};
struct thread threads[THREADS] = {};
/* Cores that are switched off, or that real-time threads have. */
__u64 away[CORES / 64] = {};
/* When the present decision is made, by the scheduler's clock: mostly read already, and of other CPUs only nearly the same. */
#define NOW scx_bpf_now()
/* Each number from one up to another. */
#define FOR(i, from, to) bpf_for(i, from, to)
/* Each thread that waits for a core, in the order of vruntime, or from the last one up. */
#define FOR_WAITING(slot, core)                                                                                       \
	struct task_struct *p_##slot;                                                                                   \
	bpf_for_each(scx_dsq, p_##slot, core, 0) if ((slot = slot_of(p_##slot)))
#define FOR_WAITING_BACK(slot, core)                                                                                  \
	struct task_struct *p_##slot;                                                                                   \
	bpf_for_each(scx_dsq, p_##slot, core, SCX_DSQ_ITER_REV) if ((slot = slot_of(p_##slot)))
static __u32 slot_of(struct task_struct *p);
/* The first of those; 0 if there is none. */
__u32 first_in_queue(__u32 core);
/* The verifier checks such functions once, not for each call: they take and return numbers. */
#define DECISION __noinline
/* A number that the verifier takes for any: what a loop changes is the same to it in every round, so that it stops exploring. */
static volatile __u64 nothing;
#define ANY(number) ((number) + nothing)

#else

extern struct machine machine;
extern struct core cores[CORES];
extern struct thread threads[THREADS];
extern __u64 away[CORES / 64];
extern __u64 present;
extern __u32 queues[CORES][256];
#define NOW present
#define FOR(i, from, to) for (i = (from); i < (to); i++)
#define FOR_WAITING(slot, core)                                                                                       \
	for (__u32 i_##slot = 0; i_##slot < cores[core].queued && (slot = queues[core][i_##slot]); i_##slot++)
#define FOR_WAITING_BACK(slot, core)                                                                                  \
	for (__u32 i_##slot = cores[core].queued; i_##slot && (slot = queues[core][i_##slot - 1]); i_##slot--)
#define DECISION static
#define ANY(number) (number)

static __u32 first_in_queue(__u32 core)
{
	return queues[core][0];
}

#endif

static __always_inline struct core *core_at(__u32 core)
{
	return &cores[core & (CORES - 1)];
}

static __always_inline const volatile struct place *place_of(__u32 core)
{
	return &machine.places[core & (CORES - 1)];
}

static __always_inline struct thread *thread_at(__u32 slot)
{
	return &threads[slot & (THREADS - 1)];
}

static __always_inline bool has(const __u64 *mask, __u32 core)
{
	return mask[core / 64 & (CORES / 64 - 1)] >> (core % 64) & 1;
}

/* Whether the program and the policy allow a thread a core, which is there. */
static __always_inline bool may_run_on(__u32 slot, __u32 core)
{
	struct thread *t = thread_at(slot);

	return has(t->may, core) && has(t->wanted, core) && !has(away, core);
}

static __always_inline bool is_big(__u32 core)
{
	return place_of(core)->type == 0;
}

static __always_inline bool idle(__u32 core)
{
	return !core_at(core)->current && !core_at(core)->queued;
}

static __always_inline __u32 occupancy(__u32 core)
{
	return core_at(core)->queued + !!core_at(core)->current;
}

static __always_inline __u64 weight_on(__u32 core)
{
	return core_at(core)->weight + core_at(core)->queue_weight;
}

/* Whether another core is in a domain around this one, or of a kind. */
static __always_inline bool within(__u32 domain, __u32 core, __u32 other)
{
	switch (domain) {
	case CACHE:
		return place_of(core)->cache == place_of(other)->cache;
	case NODE:
		return place_of(core)->node == place_of(other)->node;
	case BIG:
		return is_big(other);
	case LITTLE:
		return !is_big(other);
	default:
		return true;
	}
}

/* The core `step` places after another one, in a circle. */
static __always_inline __u32 after(__u32 core, __u32 step)
{
	__u32 next = core + step;

	return next < machine.cores ? next : next - machine.cores;
}

static __always_inline __u64 since(__u64 now, __u64 then)
{
	return now > then ? now - then : 0;
}

/* How long a running thread takes to another core of late, in ns; 0 where none is really moved. */
static __u64 move_takes;

/* Whether it is worth while to move a running thread. How long it still runs is not known: if it has run for as long as a move
 * costs, no other rule loses less in the worst case (ski rental). It costs the core that it leaves and the one that it goes to.
 * An idle core picks again at the next beat. */
static __always_inline bool worth_moving(__u32 slot)
{
	struct thread *t = thread_at(slot);

	return t->run != RUNNING || since(NOW, t->since) >= 2 * move_takes;
}

/* The running thread of a core, if it may move to another one. */
static __always_inline __u32 movable_current(__u32 core, __u32 to)
{
	__u32 current = core_at(core)->current;

	/* Of two idle cores each is to have its own. */
	if (!current || current == core_at(core)->leaves)
		return 0;
	return may_run_on(current, to) && worth_moving(current) ? current : 0;
}

static __always_inline __u32 speedup_of(__u32 slot)
{
	__u32 own = thread_at(slot)->speedup;

	return own ? own : machine.speedup;
}

/* How many times as fast as on the smallest core type a thread progresses on a core. */
static __always_inline __u32 progress_rate(__u32 slot, __u32 core)
{
	__u32 type = place_of(core)->type, own = speedup_of(slot);

	if (machine.types == 1 || type == machine.types - 1)
		return ONE;
	if (type == 0)
		return own > ONE ? own : ONE;
	return place_of(core)->capacity * ONE / machine.least;
}

static __always_inline __u64 picked(enum pick pick, __u32 slot)
{
	return slot ? (__u64)pick << 32 | slot : IDLE;
}

/* A thread of this core is to exchange its core with one of another: each runs, or waits. */
static __always_inline __u64 exchanged(__u32 here, __u32 there)
{
	return (__u64)here << 48 | picked(EXCHANGE, there);
}

static __always_inline enum pick pick_of(__u64 chosen)
{
	return chosen >> 32 & 0xffff;
}

static __always_inline __u32 here_of(__u64 chosen)
{
	return chosen >> 48;
}
