/* SPDX-License-Identifier: GPL-2.0-only */
/* What the policy decides. Those that are not named decide as CFS does; WASH is CFS within the cores that it wants for each
 * thread. */
#pragma once
#include "colab.h"
#include "eas.h"
#include "faster_first.h"
#include "gts.h"
#include "pfs.h"

/* The core that a thread which became ready waits for. */
DECISION __u32 hook_place(__u32 slot, __u32 why, __u32 near)
{
	switch (machine.policy) {
	case COLAB:
		return colab_place(slot, why, near);
	case PFS:
		return pfs_place(slot, why, near);
	case GTS:
		return gts_place(slot, why, near);
	case EAS:
		return eas_place(slot, why, near);
	case FCF:
	case BIAS:
		return faster_place(slot, why, near);
	default:
		return fair_place(slot, why, near);
	}
}

/* What a core without a thread runs next. */
DECISION __u64 hook_pick(__u32 core)
{
	switch (machine.policy) {
	case COLAB:
		return colab_pick(core);
	case PFS:
		return pfs_pick(core);
	case GTS:
		return gts_pick(core);
	case EAS:
		return eas_pick(core);
	case FCF:
	case BIAS:
		return faster_pick(core);
	default:
		return fair_pick(core);
	}
}

/* Whether cores balance at all. */
static __always_inline bool hook_balances(void)
{
	return machine.policy != COLAB || machine.choices[BALANCE];
}

/* At a tick: a thread that a core should pull from another one. */
DECISION __u64 hook_balance(__u32 core)
{
	switch (machine.policy) {
	case PFS:
		return pfs_balance(core);
	case GTS:
		return gts_balance(core);
	case EAS:
		return eas_balance(core);
	case FCF:
	case BIAS:
		return faster_balance(core);
	default:
		return fair_balance(core);
	}
}

DECISION __u64 hook_slice(__u32 slot, __u32 core)
{
	return machine.policy == COLAB ? colab_slice(slot, core) : fair_slice(slot, core);
}

DECISION __u64 hook_charge(__u32 slot, __u32 core, __u64 ran)
{
	switch (machine.policy) {
	case COLAB:
		return colab_charge(slot, core, ran);
	case PFS:
		return pfs_charge(slot, core, ran);
	default:
		return fair_charge(slot, ran);
	}
}

/* What the thread that runs on a core is still to be charged: `hook_charge` without books. */
DECISION __u64 hook_owes(__u32 running, __u32 core)
{
	switch (machine.policy) {
	case COLAB:
		return colab_charge(running, core, unreported(running));
	case PFS:
		return pfs_achieved(running, core, unreported(running));
	default:
		return fair_charge(running, unreported(running));
	}
}

DECISION __s64 hook_enter(__u32 slot, __u32 core, __u32 why)
{
	__u32 running = core_at(core)->current;

	return fair_enter(slot, core, why, running ? hook_owes(running, core) : 0);
}

DECISION int hook_expired(__u32 running, __u32 core)
{
	if (machine.policy == PFS)
		return pfs_expired(running, core);
	return fair_expired(running, core, hook_slice(running, core));
}

DECISION int hook_preempts(__u32 woken, __u32 running, __u32 core)
{
	if (machine.policy == PFS)
		return pfs_comes_before(woken, running);
	return fair_preempts(woken, running, hook_owes(running, core));
}

/* Which thread comes next on a core: one that waits there, or the one that ran and could go on, as if it were back in the queue. The
 * kernel queues it later. */
DECISION __u32 hook_next(__u32 core, __u32 ran)
{
	switch (machine.policy) {
	case COLAB:
		return colab_max_block_local(core, ran);
	case PFS:
		return pfs_next(core, ran);
	default:
		return fair_before(first_waiting(core), ran);
	}
}
