/* SPDX-License-Identifier: GPL-2.0-only */
/* How much cores are used: by the threads that were on them last, sleep included. */
#pragma once

/* Set before loading: whether the policy reads it. */
const volatile bool reads_usage = false;

/* By core: the average, who changes it, and what threads that came and went have brought and taken, in its units. */
static struct pelt used[CORES];
static __u32 taken[CORES];
static __u64 brought[CORES];

/* What a core did until now has been done by who is there. */
DECISION int note_use(__u32 core, __u64 now)
{
	__u32 i = core & (CORES - 1);
	struct pelt *load = &used[i];
	__u64 sum;

	/* Who comes second leaves it to the first, or to the next one. */
	if (__sync_val_compare_and_swap(&taken[i], 0, 1))
		return 0;
	accrue(load, now, core_at(core)->current ? place_of(core)->capacity : 0);
	sum = load->average + __sync_lock_test_and_set(&brought[i], 0);
	/* Rounding may leave less than nothing. */
	load->average = (__s64)sum > 0 ? sum : 0;
	core_at(core)->used = load_of(load);
	__sync_lock_test_and_set(&taken[i], 0);
	return 0;
}

/* What a thread is going to need counts for the core that it runs on or waits for. */
static __always_inline void expect(struct thread *t, __u32 core, __u32 needs)
{
	__sync_fetch_and_sub(&core_at(t->core)->expected, t->expected);
	__sync_fetch_and_add(&core_at(core)->expected, needs);
	t->expected = needs;
}

static __always_inline __u32 needs(struct thread *t)
{
	return load_of(&t->usage) > t->estimate ? load_of(&t->usage) : t->estimate;
}

/* A thread is at a core, or was there last. */
DECISION int note_place(__u32 slot, __u32 core, bool runnable, __u64 now)
{
	struct thread *t = thread_at(slot);

	if (reads_usage) {
		accrue(&t->usage, now, 0);
		expect(t, core, runnable ? needs(t) : 0);
		if (t->core != core) {
			__sync_fetch_and_sub(&brought[t->core & (CORES - 1)], t->usage.average);
			__sync_fetch_and_add(&brought[core & (CORES - 1)], t->usage.average);
			note_use(t->core, now);
			note_use(core, now);
		}
	}
	t->core = core;
	return 0;
}

/* A thread ran for so long. */
static __always_inline void note_run(__u32 slot, __u32 core, __u64 ran, __u64 now)
{
	struct thread *t = thread_at(slot);

	if (!reads_usage)
		return;
	accrue(&t->load, since(now, ran), 0);
	accrue(&t->load, now, PELT_FULL);
	accrue(&t->usage, since(now, ran), 0);
	accrue(&t->usage, now, place_of(core)->capacity);
	expect(t, core, needs(t));
	note_use(core, now);
}

/* A thread blocks: what it usually uses is learned (util_est_update: a quarter of the difference, at once if it is more). */
static __always_inline void note_block(__u32 slot, __u64 now)
{
	struct thread *t = thread_at(slot);
	__u32 level = load_of(&t->usage);

	if (!reads_usage)
		return;
	expect(t, t->core, 0);
	t->estimate = level > t->estimate ? level : t->estimate - (t->estimate - level) / 4;
}

/* What a new thread counts as: as half as busy as its core lets it be. */
static __always_inline __u64 first_usage(__u32 core)
{
	return PELT_ONE / 2 * place_of(core)->capacity / PELT_FULL;
}

/* A new thread is always runnable, too: `ready` and `begin` of sched/src/scheduler.rs. */
static __always_inline void note_begin(__u32 slot, __u32 core, __u64 now)
{
	struct thread *t = thread_at(slot);

	if (!reads_usage)
		return;
	__builtin_memset(&t->load, 0, sizeof(t->load));
	__builtin_memset(&t->usage, 0, sizeof(t->usage));
	t->estimate = t->expected = 0;
	t->load.average = PELT_ONE;
	t->usage.average = first_usage(core);
	t->load.last = t->usage.last = now;
	__sync_fetch_and_add(&brought[core & (CORES - 1)], t->usage.average);
}

/* It is its first core, not that on which it was made, whose capacity counts. */
static __always_inline void note_first(__u32 slot, __u32 core)
{
	struct thread *t = thread_at(slot);
	__u64 usage = first_usage(core);

	if (!reads_usage)
		return;
	__sync_fetch_and_add(&brought[t->core & (CORES - 1)], usage - t->usage.average);
	t->usage.average = usage;
}

/* A thread is gone. */
static __always_inline void note_end(__u32 slot, __u64 now)
{
	struct thread *t = thread_at(slot);

	if (!reads_usage)
		return;
	expect(t, t->core, 0);
	accrue(&t->usage, now, 0);
	__sync_fetch_and_sub(&brought[t->core & (CORES - 1)], t->usage.average);
}
