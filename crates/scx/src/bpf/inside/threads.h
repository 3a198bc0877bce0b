/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads that come and go, and what their programs say of them. */
#pragma once

/* The first free slot from a turn on. */
static __u32 turn;

DECISION __u32 take_slot(__u32 tid)
{
	__u32 try, slot;

	bpf_for(try, 1, THREADS) {
		slot = __sync_fetch_and_add(&turn, 1) & (THREADS - 1);
		if (slot && __sync_val_compare_and_swap(&thread_at(slot)->tid, 0, tid) == 0)
			return slot;
	}
	__sync_fetch_and_add(&figures.without_slot, 1);
	return 0;
}

/* The cores that a program allows a thread. */
static void set_cores(struct task_struct *p, struct thread *t)
{
	__u32 core, word;

	bpf_for(word, 0, CORES / 64)
		t->may[word & (CORES / 64 - 1)] = 0;
	bpf_for(core, 0, machine.cores) {
		if (bpf_cpumask_test_cpu(cpu_of(core), &p->cpus_mask))
			t->may[core / 64 & (CORES / 64 - 1)] |= 1ULL << (core % 64);
	}
}

/* Whether it allows a thread any core of the machine's. */
static bool may_run(__u32 slot)
{
	__u64 cores = 0;
	int word;

	bpf_for(word, 0, CORES / 64)
		cores |= thread_at(slot)->may[word & (CORES / 64 - 1)];
	return cores;
}

SEC("struct_ops/enable")
void BPF_PROG(inside_enable, struct task_struct *p)
{
	__u32 core = core_of(scx_bpf_task_cpu(p)), slot, word;
	__u32 *its = of_kernel(p) ? 0 : bpf_task_storage_get(&slots, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u64 now = NOW;
	struct thread *t;
	struct own *own;

	slot = its ? take_slot(p->pid) : 0;
	if (!slot)
		return;
	if (core == NO_CORE)
		core = 0;
	t = thread_at(slot);
	t->vruntime = t->progress = 0;
	t->stint = t->executed = t->waited = t->contended = t->blame = t->last_ran = t->urgency = 0;
	t->speedup = t->group = t->dominance = 0;
	__builtin_memset(t->on_type, 0, sizeof(t->on_type));
	t->weight = weight_of(p);
	t->run = BLOCKED;
	t->core = core;
	t->claims = 0;
	t->since = now;
	note_begin(slot, core, now);
	bpf_for(word, 0, CORES / 64)
		t->wanted[word & (CORES / 64 - 1)] = ~0ULL;
	set_cores(p, t);
	own = own_at(slot);
	is_off(slot);
	own->counted = p->se.sum_exec_runtime;
	own->futex_since = own->moves_since = own->released = 0;
	own->begun = false;
	*its = slot;
	describe(ENABLED, p, slot);
}

SEC("struct_ops/disable")
void BPF_PROG(inside_disable, struct task_struct *p)
{
	__u32 slot = slot_of(p);
	struct thread *t = thread_at(slot);

	if (slot) {
		/* Who still waits when this scheduler ends counts, too. */
		if (t->run == WAITING)
			note_wait(since(NOW, t->since));
		leave_queue(slot);
		vacate(t->core, slot);
		t->tid = p->pid;
		note_end(slot, NOW);
		tell(DISABLED, p, slot, 0, 0);
		/* Its slot is free when the process has read what it did. */
		t->run = BLOCKED;
	}
	bpf_task_storage_delete(&slots, p);
}

/* A thread that calls exec has the number of its process's first one from then on, which ends. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(becomes_first, struct task_struct *p, int before)
{
	__u32 slot = slot_of(p);

	if (slot && p->pid != before) {
		thread_at(slot)->tid = p->pid;
		tell(RENAMED, p, slot, before, 0);
	}
	return 0;
}

SEC("struct_ops/set_cpumask")
void BPF_PROG(inside_set_cpumask, struct task_struct *p, const struct cpumask *mask)
{
	__u32 slot = slot_of(p);

	if (!slot)
		return;
	set_cores(p, thread_at(slot));
	describe(MASK, p, slot);
}

SEC("struct_ops/set_weight")
void BPF_PROG(inside_set_weight, struct task_struct *p, __u32 weight)
{
	__u32 slot = slot_of(p);

	if (!slot)
		return;
	reweigh(p, slot);
	tell(WEIGHT, p, slot, 0, 0);
}

