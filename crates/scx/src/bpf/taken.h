/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs that sched_ext does not have: threads of programs in a real-time class come first, and where only some threads are
 * scheduled those of the kernel's own scheduler do, too. The kernel tells only of those that displace a thread of sched_ext, so
 * CPUs are checked. Threads of the kernel, and the process that decides, have a CPU for moments. Include hotplug.h first. */
#pragma once

/* Lower numbers are those of real-time classes (include/linux/sched/prio.h). */
#define MAX_RT_PRIO 100

/* The class of threads that are scheduled here (include/uapi/linux/sched.h). */
#define SCHED_EXT 7

/* Set before loading: the process that decides, and whether only threads of the class SCHED_EXT are scheduled. */
const volatile __u32 decider = 0;
const volatile bool partial = false;

/* By CPU: at how many beats in a row such a thread had it, up to two (assumed: at one it may be there for a moment): then it is
 * taken. */
static __u32 beats_taken[MAX_CPUS];

static __always_inline bool comes_first(struct task_struct *p)
{
	return (p->prio < MAX_RT_PRIO || (partial && p->policy != SCHED_EXT)) && !of_kernel(p) && p->tgid != decider;
}

/* Whether such a thread has a CPU now. */
static bool is_occupied(__s32 cpu)
{
	struct task_struct *p;
	struct rq *rq;

	if (bpf_ksym_exists(scx_bpf_cpu_curr)) {
		p = scx_bpf_cpu_curr(cpu);
		return p && comes_first(p);
	}
	if (!bpf_ksym_exists(scx_bpf_cpu_rq))
		return false;
	rq = scx_bpf_cpu_rq(cpu);
	return rq && comes_first(rq->curr);
}

/* Whether a CPU that was taken is no more. */
static __always_inline bool is_back(__s32 cpu)
{
	return __sync_lock_test_and_set(&beats_taken[cpu & (MAX_CPUS - 1)], 0) == 2;
}

/* Whether a CPU is taken from this beat on. */
static __always_inline bool becomes_taken(__s32 cpu)
{
	__u32 *beats = &beats_taken[cpu & (MAX_CPUS - 1)];

	return *beats < 2 && ++*beats == 2;
}

/* Whether a CPU is to be used, as of this beat. */
static void check_occupied(__s32 cpu)
{
	if (!is_on(cpu))
		return;
	if (!is_occupied(cpu)) {
		if (is_back(cpu))
			set_taken(cpu, false);
	} else if (becomes_taken(cpu)) {
		set_taken(cpu, true);
		/* It may have been back, and that have been told, before that it was taken. */
		if (beats_taken[cpu & (MAX_CPUS - 1)] != 2)
			set_taken(cpu, false);
	}
}

/* A thread that comes first displaces one of sched_ext: what waits in the CPU's own queue, where no other one searches, is queued
 * again. */
static __always_inline void make_room(struct scx_cpu_release_args *args)
{
	if (comes_first(args->task))
		scx_bpf_reenqueue_local();
}

/* It may also come to a CPU that has just been given a thread and has not begun it, of which the kernel does not tell. */
SEC("tp_btf/sched_switch")
int BPF_PROG(first_comes, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (bpf_ksym_exists(scx_bpf_reenqueue_local___v2___anywhere) && comes_first(next) &&
	    scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | bpf_get_smp_processor_id()) > 0)
		scx_bpf_reenqueue_local___v2___anywhere();
	return 0;
}

/* Queues a thread that no policy decides about: where it is or, if a thread that comes first has that CPU, for any that is free. */
static void insert_outside(struct task_struct *p, __u64 slice, __u64 flags)
{
	bool elsewhere = p->nr_cpus_allowed > 1 && (flags & SCX_ENQ_REENQ || is_occupied(scx_bpf_task_cpu(p)));
	__s32 idle;

	scx_bpf_dsq_insert(p, elsewhere ? SCX_DSQ_GLOBAL : SCX_DSQ_LOCAL, slice, flags & ~SCX_ENQ_REENQ);
	idle = elsewhere ? scx_bpf_pick_idle_cpu(p->cpus_ptr, 0) : -1;
	if (idle >= 0)
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
}
