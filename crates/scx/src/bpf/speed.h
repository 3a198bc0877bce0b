/* SPDX-License-Identifier: GPL-2.0-only */
/* How fast cores should be: what the process tells schedutil, the kernel's governor of frequencies. */
#pragma once

/* How much of a CPU is used, of 1024. */
struct usage {
	__s32 cpu;
	__u32 level;
};

SEC("syscall")
int perform(struct usage *usage)
{
	scx_bpf_cpuperf_set(usage->cpu, usage->level);
	return 0;
}
