/* SPDX-License-Identifier: GPL-2.0-only */
/* The default of every decision: CFS, as `sched/src/policy/parts/fair.rs` has it, which says where each rule is from. */
#pragma once
#include "state.h"

#define LATENCY 6000000ULL
#define MIN_GRANULARITY 750000ULL
#define WAKEUP_GRANULARITY 1000000ULL
#define NR_LATENCY 8
#define MIGRATION_COST 500000ULL
#define BUSY_FACTOR 32
#define NICE_0_WEIGHT 1024

static __always_inline __u64 fair_latency(void)
{
	return LATENCY * machine.scale;
}

static __always_inline __u64 fair_charge(__u32 slot, __u64 ran)
{
	__u64 weight = thread_at(slot)->weight;

	return weight && weight != NICE_0_WEIGHT ? ran * NICE_0_WEIGHT / weight : ran;
}

/* A thread's share of a period beside so many others of this weight. */
static __always_inline __u64 fair_share(__u32 slot, __u32 others, __u64 weight)
{
	__u64 running = others + 1, own = thread_at(slot)->weight, all = weight + own;
	__u64 period = running > NR_LATENCY ? MIN_GRANULARITY * machine.scale * running : fair_latency();

	return all ? period * own / all : period;
}

static __always_inline __u64 fair_slice(__u32 slot, __u32 core)
{
	return fair_share(slot, core_at(core)->queued, core_at(core)->queue_weight);
}

static __always_inline __u64 fair_wakeup_granularity(__u32 slot)
{
	return fair_charge(slot, WAKEUP_GRANULARITY * machine.scale);
}

/* `owes` is what the running one is still to be charged. */
static __always_inline bool fair_preempts(__u32 woken, __u32 running, __u64 owes)
{
	__s64 ahead = thread_at(running)->vruntime + (__s64)owes - thread_at(woken)->vruntime;

	return ahead > (__s64)fair_wakeup_granularity(woken);
}

/* A load as it weighs on a core of this capacity. */
static __always_inline __u64 scaled(__u32 core, __u64 load)
{
	__u32 capacity = place_of(core)->capacity;

	return load * 1024 * 1024 / (capacity ? capacity : 1);
}

/* The core with the least weight of those in a domain that a thread may use. */
DECISION __u32 fair_least(__u32 slot, __u32 domain)
{
	__u64 least = ANY(0ULL);
	__u32 core, best = ANY(NO_CORE);

	FOR(core, 0, machine.cores) {
		if (!within(domain, core, core) || !may_run_on(slot, core))
			continue;
		if (best == NO_CORE || weight_on(core) < least) {
			least = weight_on(core);
			best = core;
		}
	}
	return best;
}

/* The weight a core of those of a last-level cache that a thread may use. */
DECISION __u64 fair_per_core(__u32 slot, __u32 cache)
{
	__u64 sum = ANY(0ULL), size = ANY(0ULL);
	__u32 core;

	FOR(core, 0, machine.cores) {
		if (place_of(core)->cache == cache && may_run_on(slot, core)) {
			size++;
			sum += weight_on(core);
		}
	}
	return size ? sum * 1024 / size : 0;
}

/* The one of these cores with the least weight, from a core on. */
DECISION __u32 fair_least_around(__u32 slot, __u32 cache, __u32 first)
{
	__u64 least = ANY(0ULL);
	__u32 step, core, best = ANY(NO_CORE);

	FOR(step, 0, machine.cores) {
		core = after(first, step);
		if (place_of(core)->cache != cache || !may_run_on(slot, core))
			continue;
		if (best == NO_CORE || weight_on(core) < least) {
			least = weight_on(core);
			best = core;
		}
	}
	return best;
}

DECISION __u32 fair_idlest(__u32 slot, __u32 parent)
{
	__u64 per_core, best_per_core = ANY(0ULL);
	__u32 cache, core, foreign, best = ANY(NO_CORE), best_foreign = ANY(0);

	FOR(cache, 0, machine.caches) {
		foreign = place_of(parent)->cache != cache;
		core = fair_least_around(slot, cache, foreign ? 0 : parent);
		if (core == NO_CORE)
			continue;
		per_core = fair_per_core(slot, cache);
		if (best == NO_CORE || per_core < best_per_core ||
		    (per_core == best_per_core && (foreign < best_foreign || (foreign == best_foreign && core < best)))) {
			best_per_core = per_core;
			best_foreign = foreign;
			best = core;
		}
	}
	return best;
}

DECISION __u32 fair_wake_affine(__u32 slot, __u32 waker)
{
	__u32 previous = thread_at(slot)->core;
	bool back = may_run_on(slot, previous), there = waker != NO_CORE && may_run_on(slot, waker);

	if (back && there && weight_on(waker) < weight_on(previous))
		return waker;
	if (back)
		return previous;
	return there ? waker : fair_least(slot, ALL);
}

DECISION __u32 fair_idle_sibling(__u32 slot, __u32 target)
{
	__u32 step, core, previous = thread_at(slot)->core, domain = place_of(target)->domains[0];

	if (target == NO_CORE || idle(target))
		return target;
	if (within(domain, target, previous) && idle(previous) && may_run_on(slot, previous))
		return previous;
	FOR(step, 0, machine.cores) {
		core = after(target, step);
		if (within(domain, target, core) && idle(core) && may_run_on(slot, core))
			return core;
	}
	return target;
}

/* The core from which a new or a woken thread's is searched: its parent's, or its waker's while that runs. */
static __always_inline __u32 near_of(__u32 waker, __u32 why)
{
	return waker && (why == NEW || thread_at(waker)->run == RUNNING) ? thread_at(waker)->core : NO_CORE;
}

/* `near` is that core, or the one that takes the thread. */
DECISION __u32 fair_place(__u32 slot, __u32 why, __u32 near)
{
	__u32 previous = thread_at(slot)->core;

	switch (why) {
	case NEW:
		return fair_idlest(slot, near != NO_CORE ? near : previous);
	case WOKEN:
		return fair_idle_sibling(slot, fair_wake_affine(slot, near));
	case TAKEN:
		return near;
	default:
		return may_run_on(slot, previous) ? previous : fair_idlest(slot, previous);
	}
}

static __always_inline bool fair_cold(__u32 slot)
{
	struct thread *t = thread_at(slot);

	return !t->executed || since(NOW, t->last_ran) >= MIGRATION_COST;
}

/* No thread is too heavy. */
#define ANY_WEIGHT (~0ULL)

/* Whether a waiting thread may move to a core, and weighs less than `below`. */
static __always_inline bool fair_fits(__u32 slot, __u32 to, __u64 below)
{
	return may_run_on(slot, to) && thread_at(slot)->weight < below;
}

/* The thread that another core gives away first, of those that weigh less than `below`: cold ones before those that just ran,
 * the last in line first. */
DECISION __u32 fair_pullable(__u32 from, __u32 to, __u64 below)
{
	__u32 slot, hot = ANY(0);

	FOR_WAITING_BACK(slot, from) {
		if (!fair_fits(slot, to, below))
			continue;
		if (fair_cold(slot))
			return slot;
		if (!hot)
			hot = slot;
	}
	return hot;
}

/* By how much a core outweighs one that weighs `ours`: a lighter thread's move leaves the two closer to each other. Without
 * bound if one of the two has nothing to run, which takes any thread. */
static __always_inline __u64 fair_surplus(__u32 from, __u64 ours)
{
	return ours && core_at(from)->current ? since(weight_on(from), ours) : ANY_WEIGHT;
}

/* The waiting thread to pull to a core, with a weight of `ours`, from the busiest other one of a domain. */
DECISION __u32 fair_pull(__u32 core, __u32 domain, __u64 ours)
{
	__u32 step, other, thread, best = ANY(0);
	__u64 surplus, most = ANY(0ULL);

	FOR(step, 1, machine.cores) {
		other = after(core, step);
		if (!core_at(other)->queued || !within(domain, core, other))
			continue;
		surplus = fair_surplus(other, ours);
		if (!surplus || (best && weight_on(other) <= most))
			continue;
		thread = fair_pullable(other, core, surplus);
		if (thread) {
			most = weight_on(other);
			best = thread;
		}
	}
	return best;
}

static __always_inline __u32 first_waiting(__u32 core)
{
	return core_at(core)->queued ? first_in_queue(core) : 0;
}

/* Which of two threads comes first: one that waits, or one that ran. Either may be 0. */
static __always_inline __u32 fair_before(__u32 waiting, __u32 ran)
{
	if (!waiting || !ran)
		return waiting ? waiting : ran;
	return thread_at(ran)->vruntime < thread_at(waiting)->vruntime ? ran : waiting;
}

DECISION __u64 fair_pick(__u32 core)
{
	__u32 level, thread = first_waiting(core);

	FOR(level, 0, LEVELS) {
		if (thread || level >= place_of(core)->levels)
			break;
		thread = fair_pull(core, place_of(core)->domains[level], 0);
	}
	return picked(QUEUED, thread);
}

DECISION int balance_due(__u32 core, __u32 level)
{
	__u64 interval;

	if (level >= LEVELS)
		return false;
	interval = 1000000ULL * place_of(core)->sizes[level] * (idle(core) ? 1 : BUSY_FACTOR);
	return since(NOW, core_at(core)->balanced[level]) >= interval;
}

/* The weight on the cores of a last-level cache. */
DECISION __u64 fair_cache_weight(__u32 cache)
{
	__u64 weight = ANY(0ULL);
	__u32 core;

	FOR(core, 0, machine.cores) {
		if (place_of(core)->cache == cache)
			weight += weight_on(core);
	}
	return weight;
}

/* How many cores have it. */
DECISION __u64 fair_cache_size(__u32 cache)
{
	__u64 size = ANY(0ULL);
	__u32 core;

	FOR(core, 0, machine.cores)
		size += place_of(core)->cache == cache;
	return size;
}

DECISION __u32 fair_from_overloaded_cluster(__u32 core)
{
	__u64 weight, size, busiest_weight = ANY(0ULL), busiest_size = ANY(0ULL), own;
	__u32 cache, other, busiest = ANY(NO_CORE), thread = ANY(0);

	FOR(cache, 0, machine.caches) {
		if (cache == place_of(core)->cache)
			continue;
		weight = fair_cache_weight(cache);
		size = fair_cache_size(cache);
		if (busiest == NO_CORE || weight * busiest_size >= busiest_weight * size) {
			busiest = cache;
			busiest_weight = weight;
			busiest_size = size;
		}
	}
	if (busiest == NO_CORE)
		return 0;
	FOR(other, 0, machine.cores) {
		if (place_of(other)->cache == busiest && (thread = movable_current(other, core)))
			break;
	}
	if (!thread)
		return 0;
	own = thread_at(thread)->weight;
	weight = fair_cache_weight(place_of(core)->cache);
	size = fair_cache_size(place_of(core)->cache);
	return since(busiest_weight, own) * size >= (weight + own) * busiest_size ? thread : 0;
}

DECISION __u64 fair_balance(__u32 core)
{
	__u32 level, levels = place_of(core)->levels, thread = ANY(0);

	FOR(level, 0, LEVELS) {
		if (level >= levels || thread)
			break;
		if (balance_due(core, level))
			thread = fair_pull(core, place_of(core)->domains[level], weight_on(core));
	}
	if (thread)
		return picked(QUEUED, thread);
	return picked(TAKE, idle(core) && balance_due(core, levels - 1) ? fair_from_overloaded_cluster(core) : 0);
}

/* For how long a running thread has had its core since it was last accounted for: that is done at ticks and stops, not at wake-ups. */
static __always_inline __u64 unreported(__u32 slot)
{
	struct thread *t = thread_at(slot);

	return t->run == RUNNING ? since(NOW, t->last_ran > t->since ? t->last_ran : t->since) : 0;
}

/* The floor of those that wait for a core: what runs there counts with what it is still to be charged, `owes`. */
static __always_inline __s64 fair_floor(__u32 slot, __u32 core, __u64 owes)
{
	__u32 running = core_at(core)->current, first = first_waiting(core);
	__s64 floor = core_at(core)->min_vruntime, ahead;

	/* One that has only claimed the core has its vruntime from another one still. */
	if (!running || running == slot || thread_at(running)->run != RUNNING || thread_at(running)->core != core)
		return floor;
	ahead = thread_at(running)->vruntime + (__s64)owes;
	if (first && thread_at(first)->vruntime < ahead)
		ahead = thread_at(first)->vruntime;
	return ahead > floor ? ahead : floor;
}

/* The vruntime with which a thread joins those that wait for a core. */
DECISION __s64 fair_enter(__u32 slot, __u32 core, __u32 why, __u64 owes)
{
	struct thread *t = thread_at(slot);
	__s64 vruntime = t->vruntime - core_at(t->core)->min_vruntime + core_at(core)->min_vruntime;
	__s64 floor = fair_floor(slot, core, owes);
	__s64 earliest = floor - (__s64)fair_latency() / 2;
	__u32 last;

	switch (why) {
	case NEW:
		return floor + (__s64)fair_charge(slot, fair_share(slot, occupancy(core), weight_on(core)));
	case WOKEN:
		return vruntime > earliest ? vruntime : earliest;
	case YIELDED:
		if (core_at(core)->queued) {
			FOR_WAITING_BACK(last, core) {
				if (thread_at(last)->vruntime >= vruntime)
					vruntime = thread_at(last)->vruntime + 1;
				break;
			}
		}
		return vruntime;
	default:
		return vruntime;
	}
}

DECISION int fair_expired(__u32 running, __u32 core, __u64 stint)
{
	struct thread *t = thread_at(running);
	__u32 first = first_waiting(core);
	__s64 ahead = first ? t->vruntime - thread_at(first)->vruntime : 0;

	if (t->stint >= stint)
		return 1;
	return ahead > (__s64)fair_slice(running, core) && t->stint >= MIN_GRANULARITY * machine.scale;
}
