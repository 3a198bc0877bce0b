/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads that wait, and how cores get one: by an assignment of the process, or by themselves. */
#pragma once

/* A thread waits in the queue of its number, which is searched for it: with 64 queues a machine on which 500 threads wait
 * searches eight of them. A power of two. */
#define QUEUES 64
/* A running thread is checked again after so long, in ns: a tick of Debian's kernels (250 Hz), since less cannot be had. */
#define SLICE 4000000

/* To a core: the thread that it is to run. The number is written last. */
struct assignment {
	__u64 slice;
	__u32 tid;
	__u32 number;
};

/* Written by the process. */
struct assignment assignments[MAX_CPUS] = {};

/* Read by the process: threads that cores took because it was late. */
__u64 taken_late = 0;

/* The number of the last assignment that each core has taken. */
static __u32 taken[MAX_CPUS];
/* Where late cores search first: after the queue that each has last taken from, so that all have their turn. */
static __u32 first_queue[MAX_CPUS];

static void give_up_all_bound(__s32 cpu)
{
	int queue;

	bpf_for(queue, 0, QUEUES)
		give_up_bound(queue, cpu);
}

/* What became of an assignment: its thread is there, waits nowhere, or may not run there. */
enum delivered { MOVED, ABSENT, KEPT };

static bool waits(__u32 tid)
{
	struct task_struct *p = bpf_task_from_pid(tid);
	struct thread *thread;
	bool found = false;

	if (p) {
		thread = of(p);
		found = thread && thread->waits;
		bpf_task_release(p);
	}
	return found;
}

/* Gives a core the thread of its assignment, if it still waits and may run there. */
static enum delivered deliver(__u32 cpu, __u32 tid, __u64 slice)
{
	struct bpf_iter_scx_dsq iterator;
	struct task_struct *p;
	enum delivered found = ABSENT;

	if (!bpf_iter_scx_dsq_new(&iterator, tid & (QUEUES - 1), 0)) {
		while ((p = bpf_iter_scx_dsq_next(&iterator))) {
			if (p->pid == tid) {
				scx_bpf_dsq_move_set_slice(&iterator, slice < SLICE ? slice : SLICE);
				found = send(&iterator, p, cpu) ? MOVED : KEPT;
				break;
			}
		}
	}
	bpf_iter_scx_dsq_destroy(&iterator);
	return found;
}

/* Takes the first thread of a queue that ran on this CPU's type last. */
static bool take_from(__u32 queue, __u32 cpu)
{
	struct bpf_iter_scx_dsq iterator;
	struct thread *thread;
	struct task_struct *p;
	bool taken = false;

	if (!bpf_iter_scx_dsq_new(&iterator, queue, 0)) {
		while (!taken && (p = bpf_iter_scx_dsq_next(&iterator))) {
			thread = of(p);
			taken = thread && thread->type == type_of[cpu] && send(&iterator, p, cpu);
		}
	}
	bpf_iter_scx_dsq_destroy(&iterator);
	return taken;
}

/* Takes a thread that waits: one that ran on this CPU's type last, if there is one. */
static bool take_any(__u32 cpu)
{
	__u32 first = first_queue[cpu], queue;
	int turn;

	bpf_for(turn, 0, 2 * QUEUES) {
		queue = (first + turn) & (QUEUES - 1);
		if (turn < QUEUES ? take_from(queue, cpu) : scx_bpf_dsq_move_to_local(queue)) {
			first_queue[cpu] = queue + 1;
			/* Before the process has begun, it is not late. */
			if (heard)
				__sync_fetch_and_add(&taken_late, 1);
			return true;
		}
	}
	return false;
}
