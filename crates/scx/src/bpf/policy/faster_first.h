/* SPDX-License-Identifier: GPL-2.0-only */
/* Faster core first, and bias scheduling over it, as `sched/src/policy/{fcf,bias}.rs` and `parts/faster_first.rs` have them. What
 * threads stall on comes from there, once a period. Instead of a history of who ran on a core (6.2), which was to spare a search,
 * those that are there now are searched. */
#pragma once
#include "fair.h"

/* Of bias scheduling: whether threads stay on their memory node. */
enum bias_choice { STAY_ON_NODE };

/* Stalls that dominate a thread just so. */
#define DOMINANT (1LL << 20)

static __always_inline bool faster(__u32 core, __u32 than)
{
	return place_of(core)->type < place_of(than)->type;
}

/* Whether a core's domain lies within what threads may cross. */
static __always_inline bool reaches(__u32 domain)
{
	return machine.policy != BIAS || !machine.choices[STAY_ON_NODE] || domain == CACHE || domain == NODE;
}

/* Whether a thread may go to a core: a woken one stays where it may, a new one may go anywhere. */
static __always_inline bool in_reach(__u32 slot, __u32 why, __u32 core)
{
	return why == NEW || reaches(ALL) || within(NODE, thread_at(slot)->core, core);
}

DECISION __u32 distance(__u32 near, __u32 core)
{
	__u32 level;

	FOR(level, 0, LEVELS) {
		if (level >= place_of(near)->levels || within(place_of(near)->domains[level], near, core))
			return level;
	}
	return LEVELS;
}

DECISION __u32 faster_place(__u32 slot, __u32 why, __u32 parent)
{
	__u32 core, near = thread_at(slot)->core, best = ANY(NO_CORE), roomiest = ANY(NO_CORE), key;
	__u32 best_key = ANY(0);
	__u64 room, most = ANY(0ULL);

	if (why != NEW && why != WOKEN)
		return fair_place(slot, why, parent);
	if (why == NEW && parent != NO_CORE)
		near = parent;
	FOR(core, 0, machine.cores) {
		if (!may_run_on(slot, core) || !in_reach(slot, why, core))
			continue;
		if (idle(core)) {
			key = place_of(core)->type * 16 + (core != near) * 8 + distance(near, core);
			if (best == NO_CORE || key < best_key) {
				best = core;
				best_key = key;
			}
		}
		room = scaled(core, weight_on(core) + thread_at(slot)->weight);
		if (roomiest == NO_CORE || room < most) {
			roomiest = core;
			most = room;
		}
	}
	if (best != NO_CORE)
		return best;
	if (why == NEW && roomiest != NO_CORE)
		return roomiest;
	core = fair_place(slot, why, parent);
	return roomiest == NO_CORE || in_reach(slot, why, core) ? core : roomiest;
}

/* How much a thread would rather be on another core, in units of DOMINANT: above 0 if it has a bias towards its type, below if
 * against it, 0 between cores of one type. */
static __always_inline __s64 bias_of(__u32 slot, __u32 from, __u32 to)
{
	__s64 dominance = thread_at(slot)->dominance;

	if (!dominance)
		return 0;
	if (faster(to, from))
		return DOMINANT - (dominance - 1);
	return faster(from, to) ? dominance - 1 - DOMINANT : 0;
}

/* The first of the threads with the highest bias towards a core, or of all if none has any. */
static __always_inline __u32 bias_more(__u32 best, __u32 slot, __u32 to)
{
	__s64 own, most;

	if (!best || machine.policy != BIAS)
		return best ? best : slot;
	own = bias_of(slot, thread_at(slot)->core, to);
	most = bias_of(best, thread_at(best)->core, to);
	return own > (most > 0 ? most : 0) ? slot : best;
}

/* The thread that another core gives away, of those that weigh less than `below`: as CFS orders them, the most biased first. */
DECISION __u32 faster_pullable(__u32 from, __u32 to, __u64 below)
{
	__u32 cold, hot, best = ANY(0);

	if (machine.policy != BIAS)
		return fair_pullable(from, to, below);
	FOR_WAITING_BACK(cold, from) {
		if (fair_fits(cold, to, below) && fair_cold(cold))
			best = bias_more(best, cold, to);
	}
	FOR_WAITING_BACK(hot, from) {
		if (fair_fits(hot, to, below) && !fair_cold(hot))
			best = bias_more(best, hot, to);
	}
	return best;
}

/* What a thread weighs less than that makes a core's load, for its capacity, less than `theirs`. A core without any work takes
 * any. */
static __always_inline __u64 faster_room(__u32 core, __u64 theirs)
{
	__u64 least = (theirs * place_of(core)->capacity + (1ULL << 20) - 1) >> 20;

	return idle(core) ? ANY_WEIGHT : since(least, weight_on(core));
}

DECISION __u32 faster_pull(__u32 core, __u32 domain)
{
	__u32 step, other, busiest = ANY(NO_CORE);
	__u64 most = ANY(0ULL), load;

	FOR(step, 1, machine.cores) {
		other = after(core, step);
		if (!core_at(other)->queued || !within(domain, core, other))
			continue;
		load = scaled(other, weight_on(other));
		if ((busiest == NO_CORE || load > most) && fair_pullable(other, core, faster_room(core, load))) {
			most = load;
			busiest = other;
		}
	}
	return busiest == NO_CORE ? 0 : faster_pullable(busiest, core, faster_room(core, most));
}

DECISION __u64 faster_pick(__u32 core)
{
	__u32 level, other, running, domain, thread = first_waiting(core);

	FOR(level, 0, LEVELS) {
		if (thread || level >= place_of(core)->levels)
			break;
		domain = place_of(core)->domains[level];
		if (reaches(domain))
			thread = faster_pull(core, domain);
	}
	if (thread)
		return picked(QUEUED, thread);
	FOR(level, 0, LEVELS) {
		if (thread || level >= place_of(core)->levels)
			break;
		domain = place_of(core)->domains[level];
		if (!reaches(domain))
			break;
		FOR(other, 0, machine.cores) {
			if (!within(domain, core, other) || !faster(core, other))
				continue;
			running = movable_current(other, core);
			if (running)
				thread = bias_more(thread, running, core);
		}
	}
	return picked(TAKE, thread);
}

/* Of the threads that run on a core or wait for it, the one with the highest bias towards another core that it may use; 0 if none has any. */
DECISION __u32 bias_misplaced(__u32 core, __u32 to)
{
	__u32 slot, best = ANY(0), current = movable_current(core, to);
	__s64 own = current ? bias_of(current, core, to) : 0, most = ANY(0LL);

	if (own > 0) {
		most = own;
		best = current;
	}
	if (!core_at(core)->queued)
		return best;
	FOR_WAITING(slot, core) {
		own = may_run_on(slot, to) ? bias_of(slot, core, to) : 0;
		if (own > most) {
			most = own;
			best = slot;
		}
	}
	return best;
}

/* Whether a thread has a bias towards slower cores: bias_of is above 0 for each of them. */
static __always_inline bool prefers_slower(__u32 slot)
{
	return thread_at(slot)->dominance > DOMINANT + 1;
}

/* Whether a thread of this core has a bias towards slower cores, wherever it may run. */
DECISION int bias_may_give(__u32 core)
{
	__u32 slot, current = core_at(core)->current;

	if (current && prefers_slower(current))
		return true;
	if (!core_at(core)->queued)
		return false;
	FOR_WAITING(slot, core) {
		if (prefers_slower(slot))
			return true;
	}
	return false;
}

/* Two threads on the wrong kinds of cores: one of this core with a bias towards smaller ones, and the one with the highest bias towards this
 * core. Only big cores begin this (5.2), and find all pairs. */
DECISION __u64 bias_opposites(__u32 core, __u32 domain)
{
	__u64 pair = ANY(0ULL);
	__u32 other, here, there;
	__s64 own, most = ANY(0LL);

	/* One search of the queue, not one for each slower core, where none is to go there. */
	if (place_of(core)->type == machine.types - 1 || !bias_may_give(core))
		return 0;
	FOR(other, 0, machine.cores) {
		if (!within(domain, core, other) || !faster(core, other))
			continue;
		here = bias_misplaced(core, other);
		there = here ? bias_misplaced(other, core) : 0;
		own = there ? bias_of(there, other, core) : 0;
		if (own > most) {
			most = own;
			pair = exchanged(here, there);
		}
	}
	return pair;
}

DECISION __u64 faster_balance(__u32 core)
{
	__u32 level, domain, thread;
	__u64 pair;

	FOR(level, 0, LEVELS) {
		if (level >= place_of(core)->levels)
			break;
		domain = place_of(core)->domains[level];
		if (!reaches(domain))
			break;
		if (!balance_due(core, level))
			continue;
		thread = faster_pull(core, domain);
		if (thread)
			return picked(QUEUED, thread);
		pair = machine.policy == BIAS ? bias_opposites(core, domain) : 0;
		if (pair)
			return pair;
	}
	return picked(IDLE, 0);
}
