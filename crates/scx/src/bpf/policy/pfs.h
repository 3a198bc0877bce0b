/* SPDX-License-Identifier: GPL-2.0-only */
/* Proportional fair scheduling, as `sched/src/policy/pfs.rs` has it. */
#pragma once
#include "fair.h"

/* The knob `lag`. */
#define LAG machine.span

static __always_inline __s64 progress_of(__u32 slot)
{
	return thread_at(slot)->progress;
}

/* Which of two threads has achieved less, the first among equals. */
static __always_inline __u32 pfs_behind(__u32 best, __u32 slot)
{
	return !best || (slot && progress_of(slot) < progress_of(best)) ? slot : best;
}

/* Which of two has achieved more. */
static __always_inline __u32 pfs_ahead(__u32 best, __u32 slot)
{
	return !best || progress_of(slot) > progress_of(best) ? slot : best;
}

DECISION __u32 pfs_behind_waiting(__u32 best, __u32 core, __u32 to)
{
	__u32 slot;

	if (!core_at(core)->queued)
		return best;
	FOR_WAITING(slot, core) {
		if (core == to || may_run_on(slot, to))
			best = pfs_behind(best, slot);
	}
	return best;
}

/* Of the threads that wait for a core and the one that ran there, the one that has achieved least. */
DECISION __u32 pfs_next(__u32 core, __u32 ran)
{
	__u32 waiting = pfs_behind_waiting(0, core, core);

	if (waiting && progress_of(waiting) == progress_of(ran))
		return fair_before(waiting, ran);
	return pfs_behind(waiting, ran);
}

/* Whether another thread is so little ahead, or behind, that no more is owed. */
static __always_inline bool pfs_near(__u32 slot, __u32 other)
{
	__s64 ahead;

	if (!other || other == slot)
		return false;
	ahead = progress_of(other) - progress_of(slot);
	return ahead <= LAG && ahead >= -LAG;
}

/* A thread that slept, or is new, is owed no more than one exchange of the others' progress, and owes them no more. */
DECISION int pfs_catch_up(__u32 slot)
{
	__u32 core, other, least = ANY(0), most = ANY(0);
	struct thread *t = thread_at(slot);

	FOR(core, 0, machine.cores) {
		/* Nearly always it is one of the first. */
		other = core_at(core)->current;
		if (pfs_near(slot, other))
			return 0;
		if (other && other != slot) {
			least = pfs_behind(least, other);
			most = pfs_ahead(most, other);
		}
		if (!core_at(core)->queued)
			continue;
		FOR_WAITING(other, core) {
			if (pfs_near(slot, other))
				return 0;
			if (other != slot) {
				least = pfs_behind(least, other);
				most = pfs_ahead(most, other);
			}
		}
	}
	if (!least)
		return 0;
	if (progress_of(slot) < progress_of(least) - LAG)
		t->progress = progress_of(least) - LAG;
	if (progress_of(slot) > progress_of(most) + LAG)
		t->progress = progress_of(most) + LAG;
	return 0;
}

DECISION __u32 pfs_place(__u32 slot, __u32 why, __u32 near)
{
	__u32 core, previous = thread_at(slot)->core, best = ANY(NO_CORE), type, best_type = ANY(0);

	if (why != NEW && why != WOKEN)
		return fair_place(slot, why, near);
	pfs_catch_up(slot);
	FOR(core, 0, machine.cores) {
		if (!idle(core) || !may_run_on(slot, core))
			continue;
		type = place_of(core)->type;
		if (best == NO_CORE || type < best_type || (type == best_type && core == previous)) {
			best = core;
			best_type = type;
		}
	}
	return best != NO_CORE ? best : fair_place(slot, why, near);
}

DECISION __u64 pfs_pick(__u32 core)
{
	__u32 other, running, thread = pfs_behind_waiting(0, core, core);

	if (thread)
		return picked(QUEUED, thread);
	FOR(other, 0, machine.cores) {
		if (other != core)
			thread = pfs_behind_waiting(thread, other, core);
	}
	if (thread)
		return picked(QUEUED, thread);
	FOR(other, 0, machine.cores) {
		if (other == core || place_of(other)->type <= place_of(core)->type)
			continue;
		running = movable_current(other, core);
		if (running)
			thread = pfs_behind(thread, running);
	}
	return picked(TAKE, thread);
}

/* What a thread achieves in a span on a core. */
static __always_inline __u64 pfs_achieved(__u32 slot, __u32 core, __u64 ran)
{
	__u32 rate = progress_rate(slot, core), own = speedup_of(slot);
	__u64 achieved = fair_charge(slot, ran);

	if (own < ONE)
		own = ONE;
	return rate < own ? achieved * rate / own : achieved;
}

static __u64 pfs_charge(__u32 slot, __u32 core, __u64 ran)
{
	__u64 achieved = pfs_achieved(slot, core, ran);

	thread_at(slot)->progress += achieved;
	return achieved;
}

/* Whether a thread that waits comes before one that runs: it has achieved less, and that one has had a turn. */
static __always_inline bool pfs_comes_before(__u32 waiting, __u32 running)
{
	struct thread *t = thread_at(running);
	__s64 ahead = t->progress + (__s64)pfs_achieved(running, t->core, unreported(running)) - progress_of(waiting);

	return since(NOW, t->since) >= MIN_GRANULARITY * machine.scale && ahead > (__s64)fair_wakeup_granularity(waiting);
}

DECISION int pfs_expired(__u32 running, __u32 core)
{
	__u32 first = pfs_behind_waiting(0, core, core);

	return thread_at(running)->stint >= fair_slice(running, core) || (first && pfs_comes_before(first, running));
}

/* The capacity that a core has for each of its threads. */
static __always_inline __u32 pfs_share(__u32 core)
{
	__u32 all = occupancy(core);

	return place_of(core)->capacity / (all ? all : 1);
}

DECISION __u64 pfs_balance(__u32 core)
{
	__u32 other, running, thread = ANY(0), here = core_at(core)->current;

	if (!here)
		return fair_balance(core);
	FOR(other, 0, machine.cores) {
		if (pfs_share(other) >= pfs_share(core) || !may_run_on(here, other))
			continue;
		running = movable_current(other, core);
		if (running)
			thread = pfs_behind(thread, running);
		thread = pfs_behind_waiting(thread, other, core);
	}
	if (thread && progress_of(here) - progress_of(thread) > LAG)
		return exchanged(here, thread);
	return fair_balance(core);
}
