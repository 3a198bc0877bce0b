/* SPDX-License-Identifier: GPL-2.0-only */
/* Where very many threads wait for a core. Only how long they have waited counts then, so that those behind the first of a long queue wait
 * in the order in which they came, and no decision goes through all of them. The policy sees the first ones, which are in the order of vruntime. */
#pragma once

#include "patience.h"

/* So many threads wait in the order of vruntime: as many as have a tick each before the last one has waited for PATIENCE. */
#define ORDERED (PATIENCE / TICK)
/* How many come up from behind at a time (assumed: no core is left for longer than a millisecond by that). */
#define CLOSE_UP 8

/* By core: none in its ordered queue has waited since before that. */
static __u64 ordered_since[CORES];

/* The queue of those behind the ordered ones. */
static __always_inline __u64 behind(__u32 core)
{
	return core + CORES;
}

static __always_inline bool is_crowded(__u32 core)
{
	return scx_bpf_dsq_nr_queued(behind(core)) > 0;
}

/* Puts a thread, which is counted already, where it waits for a core. */
static __always_inline void wait_for(struct task_struct *p, __u32 core, __s64 vruntime, __u64 flags)
{
	if (core_at(core)->queued > ORDERED && scx_bpf_dsq_nr_queued(core) >= ORDERED)
		scx_bpf_dsq_insert(p, behind(core), SLICE, flags);
	else
		scx_bpf_dsq_insert_vtime(p, core, SLICE, vruntime, flags);
}

static bool may_go_on(struct task_struct *p)
{
	__u32 core, slot = slot_of(p);
	bool may = false;

	bpf_for(core, 0, machine.cores) {
		may = may_run_on(slot, core) && may_use(p, cpu_of(core));
		if (may)
			break;
	}
	return may;
}

static void give_up_all_bound(__s32 cpu)
{
	__u32 core = core_of(cpu);

	if (core == NO_CORE)
		return;
	give_up_bound(core, cpu);
	give_up_bound(behind(core), cpu);
}

/* The first of those behind that can run on the core; 0 if there is none. */
DECISION __u32 first_behind(__u32 core)
{
	__u32 slot;

	if (!is_crowded(core))
		return 0;
	FOR_WAITING(slot, behind(core)) {
		if (may_use(p_slot, cpu_of(core)))
			return slot;
	}
	return 0;
}

/* Some of those behind come into the ordered queue when half of it is gone: others fetch from there. Called where a core chooses. */
DECISION int close_up(__u32 core)
{
	struct bpf_iter_scx_dsq iterator;
	struct task_struct *p;
	__u64 *oldest = &ordered_since[core & (CORES - 1)];
	__u32 step, slot;

	if (!is_crowded(core) || scx_bpf_dsq_nr_queued(core) >= ORDERED / 2)
		return 0;
	if (!bpf_iter_scx_dsq_new(&iterator, behind(core), 0)) {
		bpf_for(step, 0, CLOSE_UP) {
			p = bpf_iter_scx_dsq_next(&iterator);
			slot = p ? slot_of(p) : 0;
			if (!slot)
				break;
			if (thread_at(slot)->since < *oldest)
				*oldest = thread_at(slot)->since;
			scx_bpf_dsq_move_set_vtime(&iterator, thread_at(slot)->vruntime);
			scx_bpf_dsq_move_vtime(&iterator, p, core, 0);
		}
	}
	bpf_iter_scx_dsq_destroy(&iterator);
	return 0;
}
