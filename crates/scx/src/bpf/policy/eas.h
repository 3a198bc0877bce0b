/* SPDX-License-Identifier: GPL-2.0-only */
/* Energy-aware scheduling, as `sched/src/policy/eas.rs` has it. */
#pragma once
#include "fair.h"
#include "pelt.h"

/* The knob `overutilised`. */
#define OVERUTILISED machine.numbers[0]

/* Whether so much use leaves a capacity some room. */
static __always_inline bool fits(__u32 use, __u32 capacity)
{
	return use * 100 < capacity * 80;
}

/* How much of a core its threads use, or usually use. */
static __always_inline __u32 use_of(__u32 core)
{
	__u32 used = core_at(core)->used, expected = core_at(core)->expected, most = place_of(core)->capacity;

	used = used > expected ? used : expected;
	return used < most ? used : most;
}

static __always_inline __u32 recent_use(__u32 slot)
{
	struct thread *t = thread_at(slot);

	return t->run == RUNNING ? load_of(&t->usage) : load_at(&t->usage, NOW);
}

/* The same without a thread. */
DECISION __u32 use_without(__u32 core, __u32 slot)
{
	struct thread *t = thread_at(slot);
	__u32 used, expected, most = place_of(core)->capacity;

	if (t->core != core)
		return use_of(core);
	used = since(core_at(core)->used, recent_use(slot));
	expected = since(core_at(core)->expected, t->expected);
	used = used > expected ? used : expected;
	return used < most ? used : most;
}

/* How much of a core a thread is going to need. */
DECISION __u32 demand_of(__u32 slot)
{
	__u32 recent = recent_use(slot), estimate = thread_at(slot)->estimate;

	return recent > estimate ? recent : estimate;
}

/* Whether some core is used to more than so many per cent. */
DECISION int overutilised(void)
{
	__u32 core;

	FOR(core, 0, machine.cores) {
		if (use_of(core) * 100 >= place_of(core)->capacity * OVERUTILISED)
			return true;
	}
	return false;
}

/* The power of a unit of use on cores of a type, at the frequency for the one that is used most. */
DECISION __u64 power_per_use(__u32 type, __u32 most)
{
	const volatile struct step *steps = machine.steps[type & (TYPES - 1)];
	__u64 power = ANY(steps[0].power);
	__u32 i;

	/* Any number, or the compiler would compare i - 1 with a bound, which verifiers before Linux 7.0 do not take for one of i. */
	FOR(i, ANY(1), STEPS) {
		if (!steps[i & (STEPS - 1)].from || steps[i & (STEPS - 1)].from > most)
			break;
		power = steps[i & (STEPS - 1)].power;
	}
	return power;
}

/* What a thread adds to the power of a core's cluster if it runs there. */
DECISION __u64 added_power(__u32 slot, __u32 core, __u32 demand)
{
	__u32 other, use, most = ANY(0), there = use_without(core, slot) + demand, type = place_of(core)->type;
	__u64 sum = ANY(0ULL);

	FOR(other, 0, machine.cores) {
		if (place_of(other)->cluster != place_of(core)->cluster)
			continue;
		use = use_without(other, slot);
		if (use > most)
			most = use;
		sum += use;
	}
	return power_per_use(type, there > most ? there : most) * (sum + demand) - power_per_use(type, most) * sum;
}

static __always_inline bool fits_on(__u32 slot, __u32 core, __u32 demand)
{
	return may_run_on(slot, core) && fits(use_without(core, slot) + demand, place_of(core)->capacity);
}

/* The core of a cluster with the most room, if the thread fits there. */
DECISION __u32 roomiest(__u32 slot, __u32 cluster, __u32 demand)
{
	__u32 core, use, least = ANY(0), best = ANY(NO_CORE);

	FOR(core, 0, machine.cores) {
		if (place_of(core)->cluster != cluster || !fits_on(slot, core, demand))
			continue;
		use = use_without(core, slot);
		if (best == NO_CORE || use < least) {
			least = use;
			best = core;
		}
	}
	return best;
}

/* The core that keeps the machine's energy lowest: where the thread was, or the core with the most room of some cluster. Where it
 * was if it fits nowhere. */
DECISION __u32 most_frugal(__u32 slot)
{
	__u32 demand = demand_of(slot), previous = thread_at(slot)->core, cluster, core, best = ANY(NO_CORE);
	__u64 added, least = ANY(0ULL);

	if (!demand && may_run_on(slot, previous))
		return previous;
	if (fits_on(slot, previous, demand)) {
		best = previous;
		least = added_power(slot, previous, demand);
	}
	FOR(cluster, 0, machine.clusters) {
		core = roomiest(slot, cluster, demand);
		if (core == NO_CORE)
			continue;
		added = added_power(slot, core, demand);
		/* Among equals where it was, then the first. */
		if (best == NO_CORE || added < least) {
			best = core;
			least = added;
		}
	}
	return best == NO_CORE && may_run_on(slot, previous) ? previous : best;
}

/* The first idle core of at least a capacity, or that a demand fits on; where the thread was before others. */
DECISION __u32 first_idle(__u32 slot, __u32 capacity, __u32 demand)
{
	__u32 core, best = ANY(NO_CORE), previous = thread_at(slot)->core, has;

	FOR(core, 0, machine.cores) {
		has = place_of(core)->capacity;
		if (!idle(core) || !may_run_on(slot, core) || has < capacity || (!capacity && !fits(demand, has)))
			continue;
		if (core == previous)
			return core;
		if (best == NO_CORE)
			best = core;
	}
	return best;
}

/* An idle core that is big enough, else the biggest idle one. */
DECISION __u32 idle_and_fit(__u32 slot)
{
	__u32 core = first_idle(slot, 0, demand_of(slot)), most = ANY(0);

	if (core != NO_CORE)
		return core;
	FOR(core, 0, machine.cores) {
		if (idle(core) && may_run_on(slot, core) && place_of(core)->capacity > most)
			most = place_of(core)->capacity;
	}
	return most ? first_idle(slot, most, 0) : NO_CORE;
}

/* The most demanding thread that runs on a core which is too small for it, and smaller than this one. */
DECISION __u32 misfit(__u32 core)
{
	__u32 other, slot, demand, most = ANY(0), best = ANY(0);

	FOR(other, 0, machine.cores) {
		if (place_of(other)->capacity >= place_of(core)->capacity)
			continue;
		slot = movable_current(other, core);
		demand = slot ? demand_of(slot) : 0;
		if (slot && !fits(demand, place_of(other)->capacity) && (!best || demand > most)) {
			most = demand;
			best = slot;
		}
	}
	return best;
}

DECISION __u32 eas_place(__u32 slot, __u32 why, __u32 near)
{
	__u32 core = NO_CORE;

	if (why == WOKEN && machine.types > 1)
		core = overutilised() ? idle_and_fit(slot) : most_frugal(slot);
	return core != NO_CORE ? core : fair_place(slot, why, near);
}

DECISION __u64 eas_pick(__u32 core)
{
	__u64 pick;

	if (machine.types > 1 && !overutilised())
		return picked(QUEUED, first_waiting(core));
	pick = fair_pick(core);
	return pick ? pick : picked(TAKE, misfit(core));
}

/* Load balancing is off while every core has room. */
DECISION __u64 eas_balance(__u32 core)
{
	return machine.types > 1 && !overutilised() ? picked(IDLE, 0) : fair_balance(core);
}
