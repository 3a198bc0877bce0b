/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads that come and go, and what their programs say of them. */
#pragma once

/* Set before loading: the CPUs that the process schedules, and their core types. */
const volatile __u64 machine[MAX_CPUS / 64] = {};
const volatile __u8 type_of[MAX_CPUS] = {};

/* Whether a CPU is one of the machine's. */
static __always_inline bool is_chosen(__u32 cpu)
{
	return machine[cpu / 64 & (MAX_CPUS / 64 - 1)] >> (cpu % 64) & 1;
}

static bool may_go_on(struct task_struct *p)
{
	__u32 cpu, cpus = scx_bpf_nr_cpu_ids();
	bool may = false;

	bpf_for(cpu, 0, cpus) {
		may = is_on(cpu) && is_chosen(cpu) && may_use(p, cpu);
		if (may)
			break;
	}
	return may;
}

/* What this part knows of a thread. */
struct thread {
	/* Its number, as the process was told. */
	__u32 tid;
	/* The core that it runs on by the process's word, plus 1. */
	__u32 on;
	/* The type of the core that it ran on last. */
	__u32 type;
	__u32 waker;
	/* Since when it has waited in a futex call. */
	__u64 futex_since;
	/* When its turn began. */
	__u64 since;
	bool yields;
	/* It is to leave its core, and was kicked for that. */
	bool leaves;
	bool kicked;
	/* It waits in a queue, or is about to: the kernel queues it after it has been told of. */
	bool waits;
	/* It may use none of the CPUs that the process schedules: it runs where it is, at once. */
	bool outside;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/* How many threads wait. */
static __u32 waiting;

static struct thread *of(struct task_struct *p)
{
	return bpf_task_storage_get(&threads, p, 0, 0);
}

static __always_inline void set_waits(struct thread *thread, bool waits)
{
	if (thread->waits != waits)
		__sync_fetch_and_add(&waiting, waits ? 1 : -1);
	thread->waits = waits;
}

/* The same, for telling of it. A thread that calls exec has the number of its process's first thread from then on, and that one,
 * which ends, has its number (de_thread): the process is told so, and no more of the first one. */
static struct thread *named(struct task_struct *p)
{
	struct thread *thread = of(p);
	__u32 before;

	if (!thread || thread->tid == p->pid)
		return thread;
	if (p->pid != p->tgid)
		return 0;
	before = thread->tid;
	thread->tid = p->pid;
	tell(RENAMED, p, 0, before, 0);
	return thread;
}

/* Tells of a thread, and notes whether it may use none of the CPUs that the process schedules. */
static void introduce(enum kind kind, struct task_struct *p, struct thread *thread)
{
	__u64 mask[MAX_CPUS / 64], common = 0;
	int word;

	read_mask(p, mask);
	for (word = 0; word < MAX_CPUS / 64; word++)
		common |= mask[word] & machine[word];
	thread->outside = !common;
	describe(kind, p, 0);
}

SEC("struct_ops/enable")
void BPF_PROG(scx_enable, struct task_struct *p)
{
	struct thread *thread;

	if (of_kernel(p))
		return;
	thread = bpf_task_storage_get(&threads, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (thread) {
		thread->tid = p->pid;
		introduce(ENABLED, p, thread);
	}
}

SEC("struct_ops/disable")
void BPF_PROG(scx_disable, struct task_struct *p)
{
	struct thread *thread = of(p);

	if (of_kernel(p))
		return;
	if (named(p))
		tell(DISABLED, p, 0, 0, 0);
	if (thread)
		set_waits(thread, false);
	bpf_task_storage_delete(&threads, p);
}

/* The next event of a thread that has called exec may be long in coming. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(becomes_first, struct task_struct *p)
{
	named(p);
	return 0;
}

SEC("struct_ops/set_cpumask")
void BPF_PROG(scx_set_cpumask, struct task_struct *p, const struct cpumask *mask)
{
	struct thread *thread = named(p);

	if (thread)
		introduce(MASK, p, thread);
}

SEC("struct_ops/set_weight")
void BPF_PROG(scx_set_weight, struct task_struct *p, __u32 weight)
{
	if (named(p))
		tell(WEIGHT, p, 0, 0, 0);
}
