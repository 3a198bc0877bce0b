/* SPDX-License-Identifier: GPL-2.0-only */
/* How fast cores should be: what the process tells schedutil, the kernel's governor of frequencies. */
#pragma once

/* By CPU: what schedutil was told last, and one more; 0 if nothing. */
static __u32 told[MAX_CPUS];

/* How much of a CPU is used, of 1024. */
struct usage {
	__s32 cpu;
	__u32 level;
};

SEC("syscall")
int perform(struct usage *usage)
{
	told[usage->cpu & (MAX_CPUS - 1)] = usage->level + 1;
	scx_bpf_cpuperf_set(usage->cpu, usage->level);
	return 0;
}

/* Tells it the same again at each tick of a busy core, as inside/governed.h does. */
SEC("struct_ops/tick")
void BPF_PROG(scx_tick, struct task_struct *p)
{
	__u32 cpu = scx_bpf_task_cpu(p) & (MAX_CPUS - 1);

	if (told[cpu])
		scx_bpf_cpuperf_set(cpu, told[cpu] - 1);
}
