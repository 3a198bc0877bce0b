/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs that are switched off and on. As soon as one is about to be switched off the kernel runs nothing there that waits in a queue here
 * (scx_rq_online), and tells of it only when all threads have left what they read under RCU (sched_cpu_deactivate). One that waits in a queue
 * here in the middle of that, and may use no other CPU, would wait for the kernel, and the kernel for it. So such threads go to the CPU's own
 * queue from then on. Include report.h first. */
#pragma once

/* The step of hotplug in which a CPU stops being used (include/linux/cpuhotplug.h): its number is the running kernel's. */
enum cpuhp_state { CPUHP_AP_ACTIVE = 1 };

/* By CPU: it is on, the kernel is about to tell that it is switched off, or has told. */
enum { ON, CLOSES, OFF };
static __u32 presence[MAX_CPUS];
/* How many close. */
static __u32 closing;

/* What follows for this scheduler from a CPU that is taken, or is back. */
static void set_taken(__s32 cpu, bool is);

/* Whether a CPU that a thread that comes first had is back. */
static bool is_back(__s32 cpu);

/* Whether a thread that waits may use one of the CPUs that this scheduler has and that are on. */
static bool may_go_on(struct task_struct *p);

/* All queues in which a thread waits that may use a CPU. */
static void give_up_all_bound(__s32 cpu);

static __always_inline __u32 *presence_of(__u32 cpu)
{
	return &presence[cpu & (MAX_CPUS - 1)];
}

static __always_inline bool is_on(__u32 cpu)
{
	return *presence_of(cpu) == ON;
}

/* What waits in a queue, and may use no CPU but one that is switched off, goes to its own queue: the kernel, which waits until the CPU has
 * no thread any more, moves those that it finds there, and lets them use others. */
static __always_inline void give_up_bound(__u64 queue, __s32 cpu)
{
	struct bpf_iter_scx_dsq iterator;
	struct task_struct *p;

	if (!bpf_iter_scx_dsq_new(&iterator, queue, 0)) {
		while ((p = bpf_iter_scx_dsq_next(&iterator))) {
			if (may_use(p, cpu) && !may_go_on(p))
				scx_bpf_dsq_move(&iterator, p, SCX_DSQ_LOCAL_ON | cpu, 0);
		}
	}
	bpf_iter_scx_dsq_destroy(&iterator);
}

/* The same at each beat while CPUs close, beside anything that other CPUs run. */
static void give_up_closing(void)
{
	__u32 cpu, cpus = scx_bpf_nr_cpu_ids();

	if (!closing)
		return;
	bpf_for(cpu, 0, cpus) {
		if (*presence_of(cpu) == CLOSES) {
			bpf_rcu_read_lock();
			give_up_all_bound(cpu);
			bpf_rcu_read_unlock();
			scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		}
	}
}

/* Before the kernel stops to use a CPU. */
SEC("tp_btf/cpuhp_enter")
int BPF_PROG(cpu_closes, __u32 cpu, int target, int step)
{
	int active = bpf_core_enum_value(enum cpuhp_state, CPUHP_AP_ACTIVE);

	if (step != active || target >= active)
		return 0;
	if (__sync_val_compare_and_swap(presence_of(cpu), ON, CLOSES) == ON) {
		__sync_fetch_and_add(&closing, 1);
		set_taken(cpu, true);
	}
	return 0;
}

/* When it has, or has failed to. */
SEC("tp_btf/cpuhp_exit")
int BPF_PROG(cpu_closed, __u32 cpu, int state, int step, int error)
{
	if (step != bpf_core_enum_value(enum cpuhp_state, CPUHP_AP_ACTIVE))
		return 0;
	if (__sync_val_compare_and_swap(presence_of(cpu), CLOSES, error ? ON : OFF) == CLOSES) {
		__sync_fetch_and_sub(&closing, 1);
		if (error) {
			is_back(cpu);
			set_taken(cpu, false);
		}
	}
	return 0;
}

/* A CPU is off, whether or not it was seen to close. */
static void closed(__s32 cpu)
{
	__sync_val_compare_and_swap(presence_of(cpu), ON, OFF);
	is_back(cpu);
	set_taken(cpu, true);
	give_up_all_bound(cpu);
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/* It is on again. */
static void opened(__s32 cpu)
{
	*presence_of(cpu) = ON;
	set_taken(cpu, false);
}

/* The kernel tells nothing of those that are off when this scheduler begins. */
static void note_off(void)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	__u32 cpu, cpus = scx_bpf_nr_cpu_ids();

	bpf_for(cpu, 0, cpus) {
		if (!bpf_cpumask_test_cpu(cpu, online)) {
			*presence_of(cpu) = OFF;
			set_taken(cpu, true);
		}
	}
	scx_bpf_put_cpumask(online);
}
