/* SPDX-License-Identifier: GPL-2.0-only */
/* What is known here of cores and threads, for the kernel's own report when it takes the machine back (its tracepoint
 * sched_ext_dump). Where a thread has waited for too long, the two disagree, or this says why. */
#pragma once

static __u32 tid_of(__u32 slot)
{
	return slot ? thread_at(slot)->tid : 0;
}

SEC("struct_ops/dump_cpu")
void BPF_PROG(inside_dump_cpu, struct scx_dump_ctx *context, __s32 cpu, bool is_idle)
{
	static char format[] = "core %d: thread %d, to leave %d, next %d, %d wait, away %d, late %d";
	__u32 core = core_of(cpu), i = core & (CORES - 1);
	unsigned long long numbers[7] = {};

	if (core == NO_CORE)
		return;
	numbers[0] = core;
	numbers[1] = tid_of(core_at(core)->current);
	numbers[2] = tid_of(core_at(core)->leaves);
	numbers[3] = tid_of(next[i]);
	numbers[4] = core_at(core)->queued;
	numbers[5] = has(away, core);
	numbers[6] = late[i];
	scx_bpf_dump_bstr(format, numbers, sizeof numbers);
}

SEC("struct_ops/dump_task")
void BPF_PROG(inside_dump_task, struct scx_dump_ctx *context, struct task_struct *p)
{
	static char format[] = "slot %d, state %d (0 blocked, 1 waits, 2 runs) of core %d for %llu ms, CPU+1 %d, goes %d, dealt %d";
	__u32 slot = slot_of(p);
	struct thread *t = thread_at(slot);
	struct own *own = own_at(slot);
	unsigned long long numbers[7] = {};

	if (!slot)
		return;
	numbers[0] = slot;
	numbers[1] = t->run;
	numbers[2] = t->core;
	numbers[3] = since(NOW, t->since) / 1000000;
	numbers[4] = own->on;
	numbers[5] = own->goes;
	numbers[6] = own->dealt;
	scx_bpf_dump_bstr(format, numbers, sizeof numbers);
}
