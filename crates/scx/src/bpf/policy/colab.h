/* SPDX-License-Identifier: GPL-2.0-only */
/* COLAB, as `sched/src/policy/colab.rs` has it. The labels come from there, once a period. */
#pragma once
#include "fair.h"

/* Which threads an idle big core takes over, which core a thread is dealt to, which threads a core chooses among, what time on a big
 * core adds to vruntime, and whether CFS balances, too. */
enum colab_choice { TAKEOVER, DEAL, ELIGIBLE, VRUNTIME, BALANCE };
enum takeover { ANY_THREAD, BLAMED, NO_THREAD };
enum deal { IDLE_FIRST, IN_TURN, BY_LOAD };
enum eligible { WITHIN_LATENCY, ALL_THAT_WAIT };
enum vruntime { MULTIPLIED, DIVIDED };

/* In what order cores come where loads do not count, and what comes after any load of an idle core. */
#define FIRST 1
#define SECOND 2
#define BUSY (1ULL << 63)

/* By group of cores: where the search for the next core to deal to begins. */
static __u32 colab_turns[4];

static __always_inline bool in_group(__u32 group, __u32 core)
{
	return group == EITHER || (group == TO_BIG) == is_big(core);
}

/* Whether idle big cores come before idle little ones, from which they would take the thread over. */
static __always_inline bool big_first(void)
{
	return machine.choices[DEAL] == IDLE_FIRST && machine.choices[TAKEOVER] == ANY_THREAD;
}

/* The next core of the group in turn, or the next idle one, or the one with the least to do for its capacity; of all cores, if the
 * thread may run on none of the group. */
DECISION __u32 colab_deal(__u32 slot, __u32 group)
{
	__u32 step, core, from = colab_turns[group & 3], chosen = ANY(NO_CORE), any = ANY(1);
	__u64 load, least = ANY(0ULL);

	FOR(core, 0, machine.cores) {
		if (in_group(group, core) && may_run_on(slot, core)) {
			any = 0;
			break;
		}
	}
	FOR(step, 0, machine.cores) {
		core = after(from, step);
		if (!may_run_on(slot, core) || (!any && !in_group(group, core)))
			continue;
		load = machine.choices[DEAL] == BY_LOAD ? scaled(core, occupancy(core) + 1) : FIRST;
		if (machine.choices[DEAL] != IN_TURN && !idle(core))
			load |= BUSY;
		else if (big_first() && !is_big(core))
			load = SECOND;
		if (chosen == NO_CORE || load < least) {
			chosen = core;
			least = load;
		}
		/* None comes before the first of those that come first. */
		if (load == FIRST && machine.choices[DEAL] != BY_LOAD)
			break;
	}
	if (chosen == NO_CORE)
		chosen = 0;
	colab_turns[group & 3] = after(chosen, 1);
	return chosen;
}

DECISION __u32 colab_place(__u32 slot, __u32 why, __u32 near)
{
	if (why != NEW && why != WOKEN)
		return fair_place(slot, why, near);
	return colab_deal(slot, thread_at(slot)->group);
}

/* Whether a thread is too far ahead for its turn. */
static __always_inline bool colab_passed_over(__u32 slot, __s64 bound)
{
	return machine.choices[ELIGIBLE] == WITHIN_LATENCY && thread_at(slot)->vruntime > bound;
}

/* The most blamed of the threads whose turn it may be: of those that wait for a core, and of the one that ran there, if one could go
 * on. */
DECISION __u32 colab_max_block_local(__u32 core, __u32 ran)
{
	__u32 slot, best = ANY(0), seen = ANY(0);
	__s64 bound = ANY(0LL);

	if (!core_at(core)->queued)
		return ran;
	FOR_WAITING(slot, core) {
		if (!seen)
			bound = thread_at(fair_before(slot, ran))->vruntime + (__s64)fair_latency();
		seen = 1;
		/* Of a long queue the rest comes later still. */
		if (colab_passed_over(slot, bound))
			break;
		if (!best || thread_at(slot)->urgency > thread_at(best)->urgency)
			best = slot;
	}
	if (!seen)
		return ran;
	if (!ran || colab_passed_over(ran, bound) || (best && thread_at(best)->urgency > thread_at(ran)->urgency))
		return best;
	return best && thread_at(best)->urgency == thread_at(ran)->urgency ? fair_before(best, ran) : ran;
}

/* Which of two threads a core should fetch: the more blamed, else for a big core the one that gains more there, else the first. */
static __always_inline __u32 colab_more(__u32 core, __u32 best, __u32 slot)
{
	__u64 own = thread_at(slot)->urgency, most = thread_at(best)->urgency;
	bool gains = is_big(core) && speedup_of(slot) > speedup_of(best);

	if (!best)
		return slot;
	return own > most || (own == most && gains) ? slot : best;
}

DECISION __u32 colab_max_block_waiting(__u32 best, __u32 core, __u32 other)
{
	__u32 slot;

	if (!core_at(other)->queued)
		return best;
	FOR_WAITING(slot, other) {
		if (may_run_on(slot, core))
			best = colab_more(core, best, slot);
	}
	return best;
}

DECISION __u64 colab_pick(__u32 core)
{
	__u32 step, other, running, domain, thread = colab_max_block_local(core, 0);

	if (thread)
		return picked(QUEUED, thread);
	/* In each domain first what waits for cores of its own kind. */
	FOR(step, 0, 2 * LEVELS) {
		if (thread || step / 2 >= place_of(core)->levels)
			break;
		domain = place_of(core)->domains[step / 2];
		FOR(other, 0, machine.cores) {
			if (within(domain, core, other) && (is_big(other) == is_big(core)) == (step % 2 == 0))
				thread = colab_max_block_waiting(thread, core, other);
		}
	}
	if (thread)
		return picked(QUEUED, thread);
	if (!is_big(core) || machine.choices[TAKEOVER] == NO_THREAD)
		return picked(IDLE, 0);
	FOR(other, 0, machine.cores) {
		if (is_big(other))
			continue;
		running = movable_current(other, core);
		if (running)
			thread = colab_more(core, thread, running);
	}
	return picked(TAKE, machine.choices[TAKEOVER] == ANY_THREAD || thread_at(thread)->urgency ? thread : 0);
}

DECISION __u64 colab_slice(__u32 slot, __u32 core)
{
	__u32 rate = progress_rate(slot, core);

	return fair_slice(slot, core) * ONE / (rate ? rate : ONE);
}

static __u64 colab_charge(__u32 slot, __u32 core, __u64 ran)
{
	__u32 rate = progress_rate(slot, core);

	if (machine.choices[VRUNTIME] == DIVIDED)
		return fair_charge(slot, ran) * ONE / (rate ? rate : ONE);
	return fair_charge(slot, ran) * rate / ONE;
}
