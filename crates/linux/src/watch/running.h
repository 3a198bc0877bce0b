/* SPDX-License-Identifier: GPL-2.0-only */
/* When the threads that are followed begin and cease to run, and how much time they take. A part of watch.bpf.c, whose records
 * and events these are. */
#pragma once

/* The CPU that a thread runs on: other CPUs bring its time up to date, too. Kernels before 5.16 do not say it there. */
static __u32 cpu_of(struct task_struct *task, struct record *record)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return BPF_CORE_READ(task, thread_info.cpu);
	return record->state == RUNNING ? record->cpu : bpf_get_smp_processor_id();
}

/* Adds what the kernel has counted since the last time, and returns it. */
static __u64 count(struct record *record, struct task_struct *task, __u32 cpu, __u64 now)
{
	__u32 core_type = type_of[cpu & (MAX_CPUS - 1)] & (MAX_TYPES - 1);
	__u64 total = BPF_CORE_READ(task, se.sum_exec_runtime), more = 0;

	if (record->counted && total > record->counted)
		more = total - record->counted;
	else if (!record->counted && record->born)
		more = total;
	record->run[core_type] += more;
	record->counted = total;
	record->counted_at = now;
	return more;
}

/* The kernel has brought a running thread's time up to date, as it does at every tick of its CPU. Some kernels let a thread begin without
 * sched_switch: if it has not been seen by then, it is seen here, and what it has run by now says since when. */
SEC("raw_tp/sched_stat_runtime")
int ran(struct bpf_raw_tracepoint_args *args)
{
	struct task_struct *task = (void *)args->args[0];
	struct record *record = record_of(BPF_CORE_READ(task, pid));
	__u64 now, ran;
	__u32 cpu;

	if (!record || record->state == EXITED)
		return 0;
	cpu = cpu_of(task, record);
	/* What an event says of a CPU comes from there. */
	if (record->state != RUNNING && cpu != bpf_get_smp_processor_id())
		return 0;
	now = bpf_ktime_get_ns();
	ran = count(record, task, cpu, now);
	record->cpu = cpu;
	if (record->state != RUNNING) {
		emit(ran < ago(now, record->since) ? now - ran : record->since, record->tid, 0, RUNS);
		emit(now, record->tid, 0, ON);
		record->state = RUNNING;
		record->since = now;
	}
	return 0;
}

/* A thread begins to run here. */
static void begins(struct record *record, __u64 now)
{
	if (record->state == READY)
		record->delay += ago(now, record->since);
	record->cpu = bpf_get_smp_processor_id();
	record->state = RUNNING;
	record->since = now;
	record->counted_at = now;
	emit(now, record->tid, 0, ON);
}

/* A thread is back from a switch, and sched_switch may have told nothing of it: on a virtual machine with Linux 6.18 none came
 * from some threads. This comes from the thread that begins. Kernels since 6.15 have it. */
SEC("raw_tp/sched_exit_tp")
int switched_back(struct bpf_raw_tracepoint_args *args)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct record *record = args->args[0] && task->pid ? record_of(task->pid) : 0;

	if (record && record->state != RUNNING && record->state != EXITED)
		begins(record, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct record *off = prev->pid ? record_of(prev->pid) : 0;
	struct record *on = next->pid ? record_of(next->pid) : 0;
	unsigned int state = BPF_CORE_READ(prev, __state);
	/* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */
	bool ended = state & (0x10 | 0x20 | 0x80);
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 now;

	/* This was a process's first thread: another one that calls exec has its number and its record now. */
	if (off && ended && !off->exiting)
		off = 0;
	/* Two branches: the verifier forbids what the compiler would make of one test of both. */
	if (!off) {
		if (!on)
			return 0;
		asm volatile("");
	}
	now = bpf_ktime_get_ns();
	if (off) {
		__u32 kind;

		count(off, prev, cpu, now);
		off->since = now;
		if (preempt || state == 0) {
			kind = PREEMPTED;
			off->state = READY;
			off->involuntary++;
		} else if (ended) {
			__u32 tid = prev->pid;

			kind = WAITS;
			off->state = EXITED;
			bpf_map_delete_elem(&slots, &tid);
		} else {
			bool futex = in_futex(prev);

			kind = futex ? WAITS_FUTEX : WAITS;
			off->state = futex ? IN_FUTEX : BLOCKED;
			off->voluntary++;
		}
		emit(now, prev->pid, 0, kind);
		if (kind != PREEMPTED && !next->pid && alarm_idle[cpu & (MAX_CPUS - 1)])
			emit(now, prev->pid, 0, IDLE);
	}
	if (on)
		begins(on, now);
	return 0;
}
