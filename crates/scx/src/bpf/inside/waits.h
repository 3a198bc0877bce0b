/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads that wait for too long, and cores that lack work which they could do. */
#pragma once

/* How often a core's queue is searched for one, in ns (assumed: a quarter of that), until one is found. */
#define SEARCH (PATIENCE / 4)
/* So many pairs of cores are checked a beat for work that one of them lacks: all of 64 cores. */
#define PAIRS 4096

/* By core: when its queue was searched last. */
static __u64 searched[CORES];
/* When cores that lack work were last checked. */
static __u64 checked;
/* Since when a core has been seen to lack a thread that waits and may use it, or one that a slower core runs. */
static __u64 lacks_since[CORES];
static __u64 misplaced_since[CORES];

/* The thread that has waited longest for a core and can run there, if threads have waited for too long, or would have by their turns, each a
 * tick: if one has waited for PATIENCE, or those that have waited for half of it take the other half, or all of them all of it. */
DECISION __u32 overdue(__u32 core)
{
	__u32 i = core & (CORES - 1), slot, longest = ANY(0), rest = first_behind(core);
	__u64 now = NOW, waits, most = ANY(0ULL), second = ANY(0ULL), half = ANY(0ULL);

	searched[i] = now;
	if (rest && thread_at(rest)->since <= ordered_since[i]) {
		note_wait(since(now, thread_at(rest)->since));
		late[i] = true;
		return rest;
	}
	FOR_WAITING(slot, core) {
		waits = since(now, thread_at(slot)->since);
		half += waits >= PATIENCE / 2;
		if (!may_use(p_slot, cpu_of(core)))
			continue;
		if (longest && waits <= most) {
			second = waits > second ? waits : second;
			continue;
		}
		second = most;
		most = waits;
		longest = slot;
	}
	/* It may wait for longer still, or not run any more. */
	note_wait(most);
	ordered_since[i] = now - second;
	late[i] = rest || (longest && (most >= PATIENCE || half * TICK >= PATIENCE / 2 || core_at(core)->queued * TICK >= PATIENCE));
	if (rest && (!longest || thread_at(rest)->since < now - most))
		return rest;
	return late[i] ? longest : 0;
}

/* Whether a thread waits for a core for too long. It comes next there. */
DECISION int waits_too_long(__u32 core)
{
	__u32 i = core & (CORES - 1), slot;

	if (!core_at(core)->queued)
		return false;
	/* It is searched again when the core chooses. */
	if (late[i])
		return true;
	if (since(NOW, searched[i]) < SEARCH)
		return false;
	slot = overdue(core);
	if (slot)
		next[i] = slot;
	return !!slot;
}

/* The same where a core chooses: if one has waited for too long, more may have, and ticks alone would be too few for them. Those behind come
 * up here whether or not one has: where threads block before a tick, the ordered queue would be empty before them. */
static __always_inline __u32 take_overdue(__u32 core)
{
	if (!core_at(core)->queued)
		return 0;
	close_up(core);
	return late[core & (CORES - 1)] ? overdue(core) : 0;
}

/* Whether a thread waits for a core that is away. It comes next on this one, since not every policy fetches what waits elsewhere
 * while it has threads of its own. */
DECISION int waits_in_vain(__u32 core)
{
	__u32 other, slot, found = ANY(0);

	if (!cores_away)
		return false;
	FOR(other, 0, machine.cores) {
		if (!has(away, other) || !core_at(other)->queued)
			continue;
		FOR_WAITING(slot, other) {
			if (may_run_on(slot, core)) {
				found = slot;
				break;
			}
		}
		slot = found ? found : first_behind(other);
		if (slot && may_run_on(slot, core))
			found = slot;
		if (found)
			break;
	}
	if (found)
		next[core & (CORES - 1)] = found;
	return !!found;
}

/* Whether a thread that waits for another core may use this one. */
static __always_inline bool could_take(__u32 core, __u32 other)
{
	return core_at(other)->queued && fair_pullable(other, core, ANY_WEIGHT);
}

/* The thread that a slower core runs and that may use this one. */
static __always_inline __u32 could_speed_up(__u32 core, __u32 other)
{
	__u32 current = core_at(other)->current;

	return is_big(core) && !is_big(other) && current && may_run_on(current, core) ? current : 0;
}

/* Something lasts, or does not, and began no earlier than `from`: keeps the longest time that it did. */
static __always_inline void note(__u64 *seen_since, bool lasts, __u64 from, __u64 now, __u64 *longest)
{
	if (!lasts) {
		*seen_since = 0;
		return;
	}
	if (!*seen_since)
		*seen_since = now;
	if (from < *seen_since)
		from = *seen_since;
	if (since(now, from) > *longest)
		*longest = since(now, from);
}

/* For how long a core has been left without work that it could do. Between two checks it may have had some: it counts from when it
 * had none, and of the threads that slower cores run the one that has run there longest. */
DECISION int note_lacks_of(__u32 core, __u64 now, __u32 pairs)
{
	bool waits = ANY(0);
	__u32 other, slower, i = core & (CORES - 1);
	__u64 runs_since = ANY(0ULL), free_since = idle_since[i];

	if (core_at(core)->current || has(away, core)) {
		lacks_since[i] = misplaced_since[i] = 0;
		return 0;
	}
	FOR(other, 0, machine.cores) {
		if (!pairs || (waits && !is_big(core)))
			break;
		pairs--;
		waits |= could_take(core, other);
		slower = could_speed_up(core, other);
		if (slower && (!runs_since || thread_at(slower)->since < runs_since))
			runs_since = thread_at(slower)->since;
	}
	note(&lacks_since[i], waits, free_since, now, &figures.longest_idle);
	note(&misplaced_since[i], !!runs_since, free_since > runs_since ? free_since : runs_since, now,
	     &figures.longest_misplaced);
	return machine.cores;
}

/* The same of all cores, once a beat. Called at ticks of cores that run something: the kernel lets no timer walk a queue. */
static void note_lacks(__u64 now)
{
	__u32 core, pairs = ANY(PAIRS), seen;
	__u64 before = checked;

	if (since(now, before) < BEAT || __sync_val_compare_and_swap(&checked, before, now) != before)
		return;
	bpf_for(core, 0, machine.cores) {
		seen = note_lacks_of(core, now, pairs);
		pairs = seen < pairs ? pairs - seen : 0;
	}
}
