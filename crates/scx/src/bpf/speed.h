/* SPDX-License-Identifier: GPL-2.0-only */
/* How fast cores should be. */
#pragma once

/* Of 1024. */
struct performance {
	__s32 cpu;
	__u32 level;
};

SEC("syscall")
int perform(struct performance *order)
{
	scx_bpf_cpuperf_set(order->cpu, order->level);
	return 0;
}
