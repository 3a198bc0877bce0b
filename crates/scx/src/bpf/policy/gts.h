/* SPDX-License-Identifier: GPL-2.0-only */
/* Global task scheduling, as `sched/src/policy/gts.rs` has it. */
#pragma once
#include "fair.h"
#include "pelt.h"

/* The knobs `up` and `down`. */
#define GTS_UP machine.numbers[0]
#define GTS_DOWN machine.numbers[1]
#define GTS_STARVING 768

static __always_inline __u32 gts_domain(__u32 core)
{
	return is_big(core) ? BIG : LITTLE;
}

static __always_inline __u32 gts_load(__u32 slot)
{
	return load_of(&thread_at(slot)->load);
}

static __always_inline bool gts_unused(__u32 core)
{
	return idle(core) && !core_at(core)->used;
}

/* A thread stays in its domain, whatever CFS says. */
DECISION __u32 gts_stay(__u32 slot, __u32 why, __u32 near)
{
	__u32 core = fair_place(slot, why, near), previous = thread_at(slot)->core;

	return core != NO_CORE && is_big(core) == is_big(previous) ? core : previous;
}

DECISION __u32 gts_place(__u32 slot, __u32 why, __u32 near)
{
	__u32 core = ANY(NO_CORE), big, previous = thread_at(slot)->core;

	if (why == NEW) {
		core = fair_least(slot, gts_load(slot) < GTS_DOWN ? LITTLE : BIG);
		return core != NO_CORE ? core : fair_place(slot, why, near);
	}
	if (why != WOKEN)
		return fair_place(slot, why, near);
	if (is_big(previous) && gts_load(slot) < GTS_DOWN) {
		core = fair_least(slot, LITTLE);
	} else if (!is_big(previous) && gts_load(slot) > GTS_UP) {
		FOR(big, 0, machine.cores) {
			if (is_big(big) && may_run_on(slot, big) && gts_unused(big)) {
				core = big;
				break;
			}
		}
	}
	return core != NO_CORE ? core : gts_stay(slot, why, near);
}

/* The busiest thread of all little cores, if it is above the up threshold. */
DECISION __u64 gts_idle_pull(__u32 core)
{
	__u32 little, slot, most = ANY(GTS_UP), best = ANY(0), kind = ANY(IDLE);

	FOR(little, 0, machine.cores) {
		if (is_big(little))
			continue;
		slot = movable_current(little, core);
		/* The last among equals. */
		if (slot && gts_load(slot) > GTS_UP && gts_load(slot) >= most) {
			most = gts_load(slot);
			best = slot;
			kind = TAKE;
		}
	}
	FOR(little, 0, machine.cores) {
		if (is_big(little) || !core_at(little)->queued)
			continue;
		FOR_WAITING(slot, little) {
			if (may_run_on(slot, core) && gts_load(slot) > GTS_UP && gts_load(slot) >= most) {
				most = gts_load(slot);
				best = slot;
				kind = QUEUED;
			}
		}
	}
	return picked(kind, best);
}

/* Here use counts all time on a core by the capacity at its highest frequency, whatever its present one is. */
DECISION int gts_starves(__u32 slot)
{
	struct thread *t = thread_at(slot);
	__u32 capacity = place_of(t->core)->capacity;
	__u32 used = t->run == RUNNING ? load_of(&t->usage) : load_at(&t->usage, NOW);

	return used * 1024 / (capacity ? capacity : 1) <= gts_load(slot) * GTS_STARVING / 1024;
}

/* The least busy of the threads that starve on big cores, if no big core is idle. */
DECISION __u32 gts_offload(__u32 core)
{
	__u32 big, slot, best = ANY(0);

	FOR(big, 0, machine.cores) {
		if (is_big(big) && gts_unused(big))
			return 0;
	}
	FOR(big, 0, machine.cores) {
		if (!is_big(big) || !core_at(big)->queued || occupancy(big) < 2)
			continue;
		FOR_WAITING(slot, big) {
			if (may_run_on(slot, core) && gts_starves(slot) && (!best || gts_load(slot) < gts_load(best)))
				best = slot;
		}
	}
	return best;
}

DECISION __u64 gts_pick(__u32 core)
{
	__u32 thread = first_waiting(core);

	if (!thread)
		thread = fair_pull(core, gts_domain(core), weight_on(core));
	if (thread)
		return picked(QUEUED, thread);
	if (!is_big(core))
		return picked(QUEUED, gts_offload(core));
	return gts_idle_pull(core);
}

DECISION __u64 gts_balance(__u32 core)
{
	bool due = balance_due(core, 0);
	__u32 thread = due ? fair_pull(core, gts_domain(core), weight_on(core)) : 0;

	if (!thread && idle(core) && !is_big(core))
		thread = gts_offload(core);
	return picked(QUEUED, thread);
}
