/* SPDX-License-Identifier: GPL-2.0-only */
/* How fast cores should be: schedutil, the kernel's own governor of frequencies, is told how much each core is used. It adds its
 * margin, and decides for the cores of a cluster together. */
#pragma once

/* Set before loading: whether it asks, and what it takes for all of each core, of 1024. */
const volatile bool governed = false;
const volatile __u32 whole[CORES];

/* By core: what it was told last. */
static __u32 told[CORES];

/* While some core's queue is locked, only of that core. */
DECISION int tell_governor(__u32 core)
{
	__u32 i = core & (CORES - 1), use = use_of(core) * whole[i] / place_of(core)->capacity;

	if (use == told[i])
		return 0;
	told[i] = use;
	__sync_fetch_and_add(&figures.frequencies, 1);
	scx_bpf_cpuperf_set(cpu_of(core), use);
	return 0;
}
