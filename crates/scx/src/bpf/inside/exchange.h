/* SPDX-License-Identifier: GPL-2.0-only */
/* Two threads exchange their cores, and which thread comes next on one for that. */
#pragma once

/* The thread that runs on a core is to give way: orders.h. */
DECISION int stop(__u32 core, __u32 to, __u32 swaps);

/* By core: the thread that comes next there, whatever the policy picks; 0 if there is none. */
static __u32 next[CORES];

static __always_inline __u32 take_next(__u32 core)
{
	__u32 i = core & (CORES - 1), slot = next[i];

	next[i] = 0;
	return slot && may_run_on(slot, core) && thread_at(slot)->run == WAITING ? slot : 0;
}

/* A thread that waits is the next one on a core, and the one that runs there goes to where it was. */
DECISION int swap(__u32 slot, __u32 core, __u32 runs, __u32 from)
{
	if (core_at(core)->current == runs) {
		next[core & (CORES - 1)] = slot;
		stop(core, from, 0);
		__sync_fetch_and_add(&figures.exchanges, 1);
	}
	return 0;
}

/* Each of two threads that wait is the next one where the other one waits. */
DECISION int cross(__u32 slot, __u32 core, __u32 here, __u32 other)
{
	next[core & (CORES - 1)] = slot;
	next[other & (CORES - 1)] = here;
	stop(core, NO_CORE, 0);
	stop(other, NO_CORE, 0);
	__sync_fetch_and_add(&figures.exchanges, 1);
	return 0;
}

/* Two threads exchange their cores. The faster core runs its thread until the other one has come; the slower core waits. */
DECISION int exchange(__u32 slot, __u32 core, __u32 here)
{
	__u32 other = thread_at(slot)->core;
	bool waits = thread_at(here)->run == WAITING;

	if (waits && thread_at(slot)->run == WAITING)
		cross(slot, core, here, other);
	else if (thread_at(slot)->run != RUNNING)
		swap(slot, core, here, other);
	else if (waits)
		swap(here, other, slot, core);
	else if (core_at(other)->current == slot && place_of(core)->capacity >= place_of(other)->capacity)
		stop(other, core, here);
	else if (core_at(other)->current == slot)
		stop(core, other, slot);
	return 0;
}
