/* SPDX-License-Identifier: GPL-2.0-only */
/* What happens to threads and cores, told to the process through a ring. */
#pragma once

/* As many as a mask of the C library has. The process refuses machines with more. */
#define MAX_CPUS 1024

enum kind { ENABLED, DISABLED, READY, RUNS, BLOCKS, REFUSED, MASK, WEIGHT, ONLINE, OFFLINE, KEEPS, RENAMED };

struct event {
	__u64 at;
	/* All time that the thread has run. */
	__u64 ran;
	/* For how long it waited in a futex call, if it did. */
	__u64 waited;
	__u32 kind;
	__u32 tid;
	__u32 cpu;
	/* The number of the assignment that was refused; the slot of a thread. */
	__u32 flags;
	/* Who woke it; the process that it belongs to, when it is enabled; its old number. */
	__u32 other;
	/* Its share of a core beside others: weight_of(). */
	__u32 weight;
};

/* An event of a thread with its mask and its name: ENABLED, MASK. */
struct described {
	struct event event;
	__u64 mask[MAX_CPUS / 64];
	char name[16];
};

/* Set before loading: the process has stopped when an event has waited for so long, in ns. */
const volatile __u64 gone_after = 0;

/* Written by the process: all events until then have been acted on. */
__u64 heard = 0;

/* Read by the process. */
__u64 lost_events = 0;
__u32 exit_kind = 0;
char exit_reason[128] = {};
char exit_message[1024] = {};

/* When the first event came that was not acted on yet, or the process was missed. */
static __u64 unheard;

/* 16 MiB hold 299,593 events of 48 bytes and 8 of the ring's: three a switch, 50,000 switches a second, for the 2 s after which
 * a silent process is given up. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} ring SEC(".maps");

/* The process has not acted on something for so long. */
static bool silent_for(__u64 now, __u64 most)
{
	__u64 since = unheard;

	return since > heard && now > since + most;
}

static void fill(struct event *event, __u64 now, enum kind kind, struct task_struct *p)
{
	__builtin_memset(event, 0, sizeof(*event));
	event->at = now;
	event->kind = kind;
	event->ran = p->se.sum_exec_runtime;
	event->tid = p->pid;
	event->weight = weight_of(p);
	event->cpu = scx_bpf_task_cpu(p);
}

static void lost(void)
{
	__sync_fetch_and_add(&lost_events, 1);
}

static void pending(__u64 now)
{
	if (unheard <= heard)
		unheard = now;
}

static void tell(enum kind kind, struct task_struct *p, __u32 flags, __u32 other, __u64 waited)
{
	__u64 now = bpf_ktime_get_ns();
	struct event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);

	pending(now);
	if (!event)
		return lost();
	fill(event, now, kind, p);
	event->flags = flags;
	event->other = other;
	event->waited = waited;
	bpf_ringbuf_submit(event, 0);
}

static void tell_of_cpu(enum kind kind, __s32 cpu, __u32 tid, __u32 flags)
{
	__u64 now = bpf_ktime_get_ns();
	struct event *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);

	pending(now);
	if (!event)
		return lost();
	__builtin_memset(event, 0, sizeof(*event));
	event->at = now;
	event->kind = kind;
	event->cpu = cpu;
	event->tid = tid;
	event->flags = flags;
	bpf_ringbuf_submit(event, 0);
}

/* The CPUs that a program allows a thread. */
static void read_mask(struct task_struct *p, __u64 mask[MAX_CPUS / 64])
{
	__u32 size = bpf_core_field_size(p->cpus_mask), most = MAX_CPUS / 8;

	__builtin_memset(mask, 0, most);
	bpf_probe_read_kernel(mask, size < most ? size : most, &p->cpus_mask);
}

/* Tells of a thread with its mask and its name. */
static void describe(enum kind kind, struct task_struct *p, __u32 flags)
{
	__u64 now = bpf_ktime_get_ns();
	struct described *event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);

	pending(now);
	if (!event)
		return lost();
	fill(&event->event, now, kind, p);
	event->event.flags = flags;
	event->event.other = p->tgid;
	read_mask(p, event->mask);
	bpf_probe_read_kernel_str(event->name, sizeof(event->name), &p->comm);
	bpf_ringbuf_submit(event, 0);
}

/* No policy schedules threads of the kernel: they run where they are, at once. */
static bool of_kernel(struct task_struct *p)
{
	return p->flags & PF_KTHREAD;
}

static bool may_use(struct task_struct *p, __u32 cpu)
{
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/* Sends a thread of the queue that is iterated over to a CPU, which chooses just now, unless it has left the queue. Whether it is there: the
 * kernel says that it has moved a thread, too, if it has put it where any CPU may take it, since this one was not online in that moment. Each one
 * is not for a moment when any is switched off or on (rq_attach_root). Where the thread is then is known when it runs. */
static __always_inline bool send(struct bpf_iter_scx_dsq *iterator, struct task_struct *p, __s32 cpu)
{
	return may_use(p, cpu) && scx_bpf_dsq_move(iterator, p, SCX_DSQ_LOCAL, 0) && scx_bpf_task_cpu(p) == cpu;
}

static void refill(struct task_struct *p, __u64 slice)
{
	if (bpf_ksym_exists(scx_bpf_task_set_slice))
		scx_bpf_task_set_slice(p, slice);
	else
		p->scx.slice = slice;
}

static void note_exit(struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(exit_reason, sizeof(exit_reason), info->reason);
	bpf_probe_read_kernel_str(exit_message, sizeof(exit_message), info->msg);
	/* Last: a process that sees it reads the rest. */
	__sync_fetch_and_add(&exit_kind, info->kind);
}
