/* SPDX-License-Identifier: GPL-2.0-only */
/* How fast cores should be: schedutil, the kernel's own governor of frequencies, is told how much each core is used. It adds its
 * margin, and decides for the cores of a cluster together. */
#pragma once

/* Set before loading: whether it asks, and what it takes for all of each core, of 1024. */
const volatile bool governed = false;
const volatile __u32 whole[CORES];

/* By core: what it was told last, and one more; 0 if nothing, when it takes the core for used to the full. */
static __u32 told[CORES];

/* While some core's queue is locked, only of that core. It decides anew if it is told the same `again`, which it is at each tick of a busy
 * core, as under the kernel's own scheduler (update_load_avg): what threads may ask of it themselves (uclamp) counts only then. And it
 * does not hear what it is told sooner than it may change the frequency again, or, of some drivers, by a CPU of another cluster
 * (sugov_should_update_freq). */
DECISION int tell_governor(__u32 core, bool again)
{
	__u32 i = core & (CORES - 1), use = use_of(core) * whole[i] / place_of(core)->capacity;
	bool changed = use + 1 != told[i];

	if (changed) {
		told[i] = use + 1;
		__sync_fetch_and_add(&figures.frequencies, 1);
	}
	if (changed || again)
		scx_bpf_cpuperf_set(cpu_of(core), use);
	return 0;
}
