/* SPDX-License-Identifier: GPL-2.0-only */
/* What is checked every few milliseconds, because the kernel calls nothing then: idle cores have no tick. */
#pragma once

static __always_inline bool crowded_elsewhere(__u32 core)
{
	return balance_due(core, place_of(core)->levels - 1) && fair_from_overloaded_cluster(core);
}

/* Whether an idle core has something to fetch, as far as that can be told without looking into queues: some thread waits, it
 * takes running ones from slower cores of which one is busy, or another cluster has too many. Others sleep on. */
static bool may_fetch(__u32 core, bool waits, __u32 slowest)
{
	switch (machine.policy) {
	case COLAB:
		return waits || place_of(core)->type < slowest || (hook_balances() && crowded_elsewhere(core));
	case FCF:
	case BIAS:
	case GTS:
		return waits || place_of(core)->type < slowest;
	case EAS:
	case PFS:
		return waits || place_of(core)->type < slowest || crowded_elsewhere(core);
	default:
		return waits || crowded_elsewhere(core);
	}
}

static int beat(void *map, __u32 *key, struct beat *beat)
{
	__u64 now = bpf_ktime_get_ns();
	bool busy = false, waits = false;
	__u32 core, slowest = 0;

	if (gives_up(now))
		return 0;
	clock_ahead = now - NOW;
	give_up_closing();
	bpf_for(core, 0, machine.cores) {
		if (reads_usage)
			note_use(core, NOW);
		if (governed)
			tell_governor(core, false);
		waits |= core_at(core)->queued;
		check_occupied(cpu_of(core));
		/* A thread that was to go elsewhere, and must not migrate now, is kept here by the kernel, which does not wake the core up for it. */
		if (core_at(core)->leaves)
			kick(core, SCX_KICK_IDLE);
		if (idle(core))
			continue;
		busy = true;
		if (place_of(core)->type > slowest)
			slowest = place_of(core)->type;
	}
	/* Idle cores have no tick of their own. */
	bpf_for(core, 0, machine.cores) {
		if (core_at(core)->current)
			continue;
		if (core_at(core)->queued || (busy && may_fetch(core, waits, slowest)))
			kick(core, SCX_KICK_IDLE);
	}
	bpf_timer_start(&beat->timer, BEAT, 0);
	return 0;
}
