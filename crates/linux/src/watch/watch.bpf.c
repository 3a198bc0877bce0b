// SPDX-License-Identifier: GPL-2.0-only
/* Samples what the kernel does with the threads of some processes and of all that they start.
 *
 * Keeps one record a thread, which the host reads without a system call, and, if the host wants events, writes each to a
 * ring. Threads of other processes cost some four lookups a context switch, and a comparison a system call.
 *
 * Every program is attached to a raw tracepoint, by type where its arguments are pointers to the kernel's types. That
 * needs no tracefs, and detaching needs no wait for all CPUs as tracepoints of perf do. Only if the host wants events, there
 * are also those that are attached to functions of libraries. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "calls.h"
#include "waited.h"

char LICENSE[] SEC("license") = "GPL";

/* So many living threads are followed; a power of two. */
#define MAX_THREADS 32768
#define MAX_PAIRS 16384
#define MAX_CPUS 1024
#define MAX_TYPES 8
/* Threads that waited for one another are followed back over so many: in longer queues the last of them is blamed for the rest (assumed). */
#define LINKS 16

enum state { FREE, READY, RUNNING, IN_FUTEX, BLOCKED, EXITED };
enum kind {
	FORKED_THREAD,
	FORKED_PROCESS,
	EXECUTED,
	ON,
	PREEMPTED,
	WAITS_FUTEX,
	WAITS,
	WOKEN,
	EXITS,
	IDLE,
	RUNS,
	INHERITS,
	REGION_BEGINS,
	REGION_ENDS,
	REGION_SHARES,
	LOOP_BEGINS,
	LOOP_ENDS,
	TASKS,
};

struct record {
	/* When it came into its state. */
	__u64 since;
	/* When its time on a CPU was last brought up to date, and what the kernel's count of it was then. */
	__u64 counted_at;
	__u64 counted;
	__u64 born;
	__u64 run[MAX_TYPES];
	__u64 delay;
	__u64 waited;
	__u64 blame;
	/* When its last wait in the futex call ended, if a followed thread ended it, and which. */
	__u64 woken;
	__u32 woken_by;
	/* By the host: whether it serves a language's runtime system. What it waits for is work. */
	__u32 serves;
	__u32 tid;
	__u32 tgid;
	__u32 state;
	__u32 cpu;
	__u32 voluntary;
	__u32 involuntary;
	/* How many futex calls it has made. */
	__u32 futex_calls;
	__u32 parent;
	/* How many masks the program has given it (sched_setaffinity), twice; odd while one is copied. */
	__u32 wishes;
	/* Whether it has begun to exit. */
	__u32 exiting;
	/* Its real and its effective user, as of its start or its last exec. The host has them from /proc, whose numbers are the kernel's: it
	 * could not load this from another user namespace than the first. */
	__u32 uid;
	__u32 euid;
	/* The CPUs that the program wants it to have: those that it was last given by others than the host, or else those that its
	 * parent had by the program's will when it was started. */
	__u64 own[MAX_CPUS / 64];
};

struct event {
	__u64 at;
	__u32 tid;
	__u32 other;
	__u32 cpu;
	__u32 kind;
	/* Which futex call of the other thread did it; 0 if none. Of a loop, where in the program it is. */
	__u32 call;
	/* Whether a loop is dealt out in ever smaller parts; of tasks, whether there are so many for each thread; of a futex call, at what. */
	__u32 manner;
	/* What the counter of this CPU read then; 0 if there is none. */
	__u64 instructions;
};

/* Set before loading. */
const volatile bool stream = false;
const volatile bool counts = false;
const volatile __u8 type_of[MAX_CPUS] = {};
const volatile __u8 alarm_idle[MAX_CPUS] = {};
/* The CPUs that a thread can be given: the kernel refuses a mask without any of them. */
const volatile __u64 usable[MAX_CPUS / 64] = {};
/* The thread of the host, whose masks are not the program's. */
const volatile __u32 host = 0;

/* By the host: who ends a wait is blamed for all of it. */
__u32 blames_waker = 0;

/* Read by the host. */
__u32 used = 0;
__u64 lost_events = 0;
__u64 lost_threads = 0;
__u64 lost_pairs = 0;

/* How deep in interrupts each CPU is. */
__u32 interrupts[MAX_CPUS] = {};

/* Mapped by the host. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MAX_THREADS);
	__type(key, __u32);
	__type(value, struct record);
} records SEC(".maps");

/* Which record a thread has. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_THREADS);
	__type(key, __u32);
	__type(value, __u32);
} slots SEC(".maps");

/* Records that the host has read to their end. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, MAX_THREADS);
	__type(value, __u32);
} reusable SEC(".maps");

/* Waits of further pairs, when this is full, are in the records only. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PAIRS);
	__type(key, struct pair);
	__type(value, struct pair_waits);
} pairs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16);
} ring SEC(".maps");

/* A counter a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, __u32);
	__type(value, __u32);
} counters SEC(".maps");

static struct record *record_of(__u32 tid)
{
	__u32 *slot = bpf_map_lookup_elem(&slots, &tid);

	return slot ? bpf_map_lookup_elem(&records, slot) : 0;
}

/* What the counter of this CPU reads; 0 if there is none. */
static __u64 count_here(void)
{
	__u64 count = counts ? bpf_perf_event_read(&counters, BPF_F_CURRENT_CPU) : 0;

	/* The numbers of errors are those of no count that is ever reached. */
	return count > -4096ULL ? 0 : count;
}

/* Whether the host should sample soon. */
static bool ends_wait(__u32 kind)
{
	return kind == IDLE || kind == INHERITS;
}

static __always_inline void emit_all(__u64 at, __u32 tid, __u32 other, __u32 kind, __u32 call, __u32 manner)
{
	struct event *event;

	if (!stream && !ends_wait(kind))
		return;
	event = bpf_ringbuf_reserve(&ring, sizeof(*event), 0);
	if (!event) {
		__sync_fetch_and_add(&lost_events, 1);
		return;
	}
	event->at = at;
	event->tid = tid;
	event->other = other;
	event->cpu = bpf_get_smp_processor_id();
	event->kind = kind;
	event->call = call;
	event->manner = manner;
	event->instructions = kind == RUNS ? 0 : count_here();
	bpf_ringbuf_submit(event, ends_wait(kind) ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

static void emit(__u64 at, __u32 tid, __u32 other, __u32 kind)
{
	emit_all(at, tid, other, kind, 0, 0);
}

/* An interrupt runs in the name of the thread that it interrupts: a wake-up there is not that thread's. Interrupts that can
 * wake a thread are those of devices, timers, and what both leave for later. */
static __u32 *interrupts_here(void)
{
	return &interrupts[bpf_get_smp_processor_id() & (MAX_CPUS - 1)];
}

static int leave(void)
{
	__u32 *depth = interrupts_here();

	/* The first that is seen may have begun before this program did. */
	if (*depth)
		--*depth;
	return 0;
}

static int enter(void)
{
	++*interrupts_here();
	return 0;
}

/* The ends come first, since programs are attached in this order. */
SEC("raw_tp/irq_handler_exit")
int irq_exit(void *ctx)
{
	return leave();
}

SEC("raw_tp/softirq_exit")
int softirq_exit(void *ctx)
{
	return leave();
}

SEC("raw_tp/hrtimer_expire_exit")
int hrtimer_exit(void *ctx)
{
	return leave();
}

SEC("raw_tp/irq_handler_entry")
int irq_entry(void *ctx)
{
	return enter();
}

SEC("raw_tp/softirq_entry")
int softirq_entry(void *ctx)
{
	return enter();
}

SEC("raw_tp/hrtimer_expire_entry")
int hrtimer_entry(void *ctx)
{
	return enter();
}

/* A record that no thread has; MAX_THREADS if all are taken. */
static __u32 free_slot(void)
{
	__u32 slot;

	if (!bpf_map_pop_elem(&reusable, &slot))
		return slot;
	/* Counts no further, so that it never wraps. */
	if (used >= MAX_THREADS)
		return MAX_THREADS;
	return __sync_fetch_and_add(&used, 1);
}

static void note_users(struct record *record, struct task_struct *task)
{
	record->uid = BPF_CORE_READ(task, cred, uid.val);
	record->euid = BPF_CORE_READ(task, cred, euid.val);
}

static void follow(__u64 now, struct task_struct *child, struct record *parent)
{
	__u32 slot = free_slot(), tid = child->pid;
	struct record *record = bpf_map_lookup_elem(&records, &slot);

	if (!record || bpf_map_update_elem(&slots, &tid, &slot, BPF_ANY)) {
		__sync_fetch_and_add(&lost_threads, 1);
		if (record)
			bpf_map_push_elem(&reusable, &slot, BPF_ANY);
		return;
	}
	__builtin_memset(record, 0, sizeof(*record));
	record->since = now;
	record->born = now;
	record->parent = parent->tid;
	record->tid = tid;
	record->tgid = child->tgid;
	record->cpu = bpf_get_smp_processor_id();
	note_users(record, child);
	/* As the kernel does with masks, but this one is never the host's. */
	__builtin_memcpy(record->own, parent->own, sizeof(record->own));
	/* Last, and with a barrier: a host that sees the thread sees all of this. It was FREE. */
	__sync_fetch_and_add(&record->state, BLOCKED);
}

/* Whether a new thread has other CPUs than the program wants: the host had changed its parent's mask when it was started. */
static bool inherits(struct task_struct *child, struct record *parent)
{
	__u64 has[MAX_CPUS / 64] = {};
	__u32 size = bpf_core_field_size(child->cpus_mask);

	if (bpf_probe_read_kernel(has, size < sizeof(has) ? size : sizeof(has), &child->cpus_mask))
		return false;
	for (int word = 0; word < MAX_CPUS / 64; word++)
		if ((has[word] & usable[word]) != (parent->own[word] & usable[word]))
			return true;
	return false;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	struct record *record = record_of(parent->pid);
	__u64 now;

	if (!record)
		return 0;
	now = bpf_ktime_get_ns();
	follow(now, child, record);
	emit(now, parent->pid, child->pid, child->tgid == parent->tgid ? FORKED_THREAD : FORKED_PROCESS);
	if (!stream && inherits(child, record))
		emit(now, parent->pid, child->pid, INHERITS);
	return 0;
}

/* A thread other than the first that calls exec takes over the first one's number. */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(executed, struct task_struct *task, int old_pid)
{
	__u32 old = old_pid, tid = task->pid, *slot, own;
	struct record *record;

	slot = tid != old ? bpf_map_lookup_elem(&slots, &old) : 0;
	if (slot) {
		own = *slot;
		/* The first thread's record, if it has not left its last CPU yet, ends here. */
		record = record_of(tid);
		if (record && record->exiting)
			record->state = EXITED;
		bpf_map_delete_elem(&slots, &old);
		bpf_map_update_elem(&slots, &tid, &own, BPF_ANY);
		record = bpf_map_lookup_elem(&records, &own);
		if (record)
			record->tid = tid;
	}
	record = record_of(tid);
	if (!record)
		return 0;
	note_users(record, task);
	emit(bpf_ktime_get_ns(), tid, tid != old ? old : 0, EXECUTED);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exits, struct task_struct *task)
{
	__u32 tid = task->pid;
	struct record *record = record_of(tid);

	if (!record)
		return 0;
	record->exiting = 1;
	emit(bpf_ktime_get_ns(), tid, 0, EXITS);
	return 0;
}

static void waited_for(__u32 waiter, __u32 waker, __u64 waited)
{
	if (!add_wait(&pairs, waiter, waker, waited))
		__sync_fetch_and_add(&lost_pairs, 1);
}

/* How long ago something was. It may have been noted on another CPU after this one has read its clock: a thread is woken while
 * it still leaves its CPU. */
static __always_inline __u64 ago(__u64 now, __u64 then)
{
	return now > then ? now - then : 0;
}

static void blame_for(struct record *waiter, struct record *by, __u64 waited)
{
	if (!waiter->serves)
		__sync_fetch_and_add(&by->blame, waited);
}

/* Blames those that a thread waited for. The one that woke it, for all of it or for the time since it was woken itself: until then it waited, too,
 * and the thread that woke it is the one to blame (the scheduler core's blame.rs). */
static void blame(struct record *waiter, struct record *by, __u64 now)
{
	__u64 from = waiter->since, to = now, began, last;

	if (blames_waker)
		blame_for(waiter, by, ago(to, from));
	for (int step = 0; step < LINKS && by && to > from; step++) {
		/* Once: its wait may be over again. */
		last = *(volatile __u64 *)&by->woken;
		began = step < LINKS - 1 && from < last && last < to ? last : from;
		if (!blames_waker)
			blame_for(waiter, by, to - began);
		waited_for(waiter->tid, by->tid, to - began);
		to = began;
		by = record_of(by->woken_by);
	}
}

/* Whether the whole process is being ended, by exit_group or a signal (SIGNAL_GROUP_EXIT): that releases no thread from its wait. */
static bool is_ending(struct task_struct *task)
{
	return BPF_CORE_READ(task, signal, flags) & 4;
}

static void runnable(struct task_struct *task)
{
	struct record *record = record_of(task->pid);
	struct task_struct *waker;
	struct record *by = 0;
	__u64 now, waited;
	bool in_call;

	if (!record)
		return;
	now = bpf_ktime_get_ns();
	waker = bpf_get_current_task_btf();
	if (!*interrupts_here() && waker->pid != task->pid)
		by = record_of(waker->pid);
	in_call = by && in_futex(waker);
	/* Also when the thread has not left its CPU yet, on its way to a wait that is over already. */
	emit_all(now, task->pid, by ? waker->pid : 0, WOKEN, in_call ? by->futex_calls : 0, in_call ? futex_word(waker) : 0);
	if (record->state != IN_FUTEX && record->state != BLOCKED)
		return;
	waited = ago(now, record->since);
	if (record->state == IN_FUTEX) {
		record->waited += waited;
		if (by && is_ending(task))
			by = 0;
		if (by)
			blame(record, by, now);
		record->woken = by ? now : 0;
		record->woken_by = by ? by->tid : 0;
	}
	record->state = READY;
	record->since = now;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *task)
{
	runnable(task);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(wakeup_new, struct task_struct *task)
{
	runnable(task);
	return 0;
}

#include "running.h"

/* Whether the kernel lets a thread from outside of the program give one of its threads a mask: root may, and the user of that thread. */
static bool may_give_mask(struct task_struct *self, struct record *to)
{
	__u32 user = BPF_CORE_READ(self, cred, euid.val);

	return !user || user == to->euid || user == to->uid;
}

/* A thread gives itself (0) or another one a mask. */
static void gives_mask(struct task_struct *self, __u32 to, __u64 bytes, const void *mask)
{
	struct record *record = record_of(to ?: self->pid);
	__u64 given[MAX_CPUS / 64] = {};
	__u64 some = 0;

	if (!record || self->pid == host)
		return;
	if (to && !record_of(self->pid) && !may_give_mask(self, record))
		return;
	if (bytes > sizeof(given))
		bytes = sizeof(given);
	if (bpf_probe_read_user(given, bytes, mask))
		return;
	for (int word = 0; word < MAX_CPUS / 64; word++)
		some |= given[word] & usable[word];
	if (!some)
		return;
	__sync_fetch_and_add(&record->wishes, 1);
	__builtin_memcpy(record->own, given, sizeof(given));
	__sync_fetch_and_add(&record->wishes, 1);
}

/* A mask is read when the call begins, since it may be in place before the call ends: a host that has seen no wish has
 * overwritten none. */
SEC("tp_btf/sys_enter")
int BPF_PROG(call_begins, struct pt_regs *regs, long number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	enum call call = call_of(task, number);
	struct record *record;
	bool compat;

	if (call == OTHER)
		return 0;
	if (call == AFFINITY) {
		compat = is_compat(task);
		gives_mask(task, argument(regs, compat, 0), argument(regs, compat, 1),
			   (const void *)argument(regs, compat, 2));
		return 0;
	}
	record = record_of(task->pid);
	if (record)
		record->futex_calls++;
	return 0;
}

#include "sharing.h"
