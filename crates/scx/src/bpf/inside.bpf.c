// SPDX-License-Identifier: GPL-2.0-only
/* A scheduler of sched_ext that decides by itself, inside the kernel: where threads wait, which one a core runs next, for how
 * long, and which running one gives way. What takes longer, labels and where a thread should be at all, a process writes
 * beside each thread once a period.
 *
 * Each core has a queue, ordered by vruntime. A thread that becomes ready and finds its core idle goes there at once. One that
 * is to leave its core for another one (`goes`) is stopped, and queued there when it has.
 *
 * Here is what the kernel calls, in the order of a thread's life. What is known of threads and cores is in inside/slots.h and
 * inside/use.h, how decisions are carried out in inside/orders.h and inside/exchange.h, what is done without a call of the kernel in
 * inside/waits.h and inside/beat.h, what is told when it fails in inside/dump.h, and the decisions themselves are in policy/hooks.h. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "calls.h"
#include "waited.h"
#include "interrupts.h"
#include "ext.h"
#include "weight.h"
#include "report.h"
#include "clock.h"
#include "hotplug.h"
#include "taken.h"
#include "policy/hooks.h"
#include "inside/use.h"
#include "inside/slots.h"
#include "inside/governed.h"
#include "inside/crowd.h"
#include "inside/exchange.h"
#include "inside/orders.h"
#include "inside/threads.h"
#include "inside/waits.h"
#include "inside/pairs.h"
#include "inside/blame.h"
#include "inside/beat.h"
#include "inside/dump.h"

char LICENSE[] SEC("license") = "GPL";

/* How often a core tries again when another one was faster (assumed: then it waits for the next beat). */
#define TRIES 4

/* The thread that does something to another one, if a thread does: its slot. */
static __u32 who_does(void)
{
	__u32 slot = in_interrupt() ? 0 : slot_of(bpf_get_current_task_btf());

	return slot && own_at(slot)->on ? slot : 0;
}

/* A thread is about to be woken. Its wake-up may be finished by another CPU, at an interrupt. */
SEC("tp_btf/sched_waking")
int BPF_PROG(inside_waking, struct task_struct *p)
{
	__u32 slot = slot_of(p);

	if (slot)
		own_at(slot)->waker = who_does();
	return 0;
}

/* Who woke a thread, or began it. */
static __u32 waker_of(__u32 slot)
{
	return own_at(slot)->begun ? own_at(slot)->waker : who_does();
}

/* A thread was woken: what it waited for, and who made it wait. */
static void end_wait(__u32 slot, __u32 waker, __u64 now)
{
	struct own *own = own_at(slot);
	struct thread *t = thread_at(slot);
	__u64 waited = own->futex_since ? since(now, own->futex_since) : 0;

	own->futex_since = 0;
	if (reads_usage)
		accrue(&t->load, now, own->begun ? 0 : PELT_FULL);
	if (!waited)
		return;
	t->contended += waited;
	if (waker == slot)
		waker = 0;
	released(slot, waker, waited, now);
	if (waker)
		__sync_fetch_and_add(&figures.blamed, waited);
}

SEC("struct_ops/select_cpu")
__s32 BPF_PROG(inside_select_cpu, struct task_struct *p, __s32 previous, __u64 flags)
{
	__u64 now = NOW;
	__u32 core, near, why, waker, slot = of_kernel(p) ? 0 : slot_of(p);
	struct own *own = own_at(slot);
	struct thread *t = thread_at(slot);
	bool idle_cpu = false;
	__s32 cpu;

	if (!slot) {
		cpu = scx_bpf_select_cpu_dfl(p, previous, flags, &idle_cpu);
		if (idle_cpu)
			scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
		return cpu;
	}
	waker = waker_of(slot);
	why = own->begun ? WOKEN : NEW;
	near = near_of(waker, why);
	end_wait(slot, waker, now);
	core = hook_place(slot, why, near);
	if (core == NO_CORE || !may_run_on(slot, core) || !may_use(p, cpu_of(core)))
		return previous;
	own->dealt = core + 1;
	/* Where a thread is that comes first, it waits in the core's queue, where others may fetch it. */
	if (idle(core) && !is_occupied(cpu_of(core)) && claim(slot, core)) {
		if (why == NEW)
			note_first(slot, core);
		t->vruntime = hook_enter(slot, core, why);
		t->since = now;
		begins(slot, core, now);
		own->begun = true;
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SLICE, 0);
	}
	return cpu_of(core);
}

SEC("struct_ops/enqueue")
void BPF_PROG(inside_enqueue, struct task_struct *p, __u64 flags)
{
	__u32 cpu = scx_bpf_task_cpu(p), core, why, from, waker, near = NO_CORE, swaps, slot = of_kernel(p) ? 0 : slot_of(p);
	struct own *own = own_at(slot);
	struct thread *t = thread_at(slot);
	__u64 now = NOW;
	bool occupied;

	if (!slot) {
		/* Only when it wakes up: two that preempted each other would do so for ever. */
		if (of_kernel(p) && flags & SCX_ENQ_WAKEUP)
			flags |= SCX_ENQ_PREEMPT;
		insert_outside(p, SCX_SLICE_DFL, flags);
		return;
	}
	from = t->core;
	reweigh(p, slot);
	if (own->on == cpu + 1 && !(flags & (SCX_ENQ_WAKEUP | SCX_ENQ_REENQ)) && !own->yields && !must_leave(slot) && may_use(p, cpu) &&
	    may_run_on(slot, core_of(cpu)) && core_at(core_of(cpu))->current == slot) {
		/* It was only interrupted. If its slice was over, threads of the kernel that wait come first: else one that is
		 * interrupted each time that it is over, by this scheduler's own process, would keep them away for ever. */
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SLICE, p->scx.slice ? flags | SCX_ENQ_HEAD : flags);
		return;
	}
	if (t->run == RUNNING)
		vacate(t->core, slot);
	leave_queue(slot);
	if (!own->begun) {
		why = NEW;
	} else if (flags & SCX_ENQ_WAKEUP) {
		why = WOKEN;
	} else if (own->goes) {
		why = TAKEN;
		near = own->goes - 1;
	} else {
		why = own->yields ? YIELDED : PREEMPTED;
	}
	if ((why == NEW || why == WOKEN) && !own->dealt) {
		/* select_cpu was not called, since it may use one CPU only or was still leaving its own when it was woken; or no core was found. */
		waker = waker_of(slot);
		near = near_of(waker, why);
		end_wait(slot, waker, now);
	}
	swaps = why == TAKEN ? own->swaps : 0;
	if (why != TAKEN)
		own->moves_since = 0;
	core = own->dealt ? own->dealt - 1 : hook_place(slot, why, near);
	if (core == NO_CORE || !may_run_on(slot, core) || !may_use(p, cpu_of(core)))
		core = fair_least(slot, ALL);
	is_off(slot);
	own->begun = true;
	if (core == NO_CORE || !may_use(p, cpu_of(core))) {
		/* It may use no core of the machine's, or none that the policy wants. */
		t->run = BLOCKED;
		t->since = now;
		scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SLICE, flags & ~SCX_ENQ_REENQ);
		return;
	}
	if (core_at(core)->current && core_at(core)->current != swaps)
		own->moves_since = 0;
	if (why == NEW)
		note_first(slot, core);
	/* Where a thread is that comes first, it is for another core to fetch this one. */
	occupied = idle(core) && is_occupied(cpu_of(core));
	t->vruntime = hook_enter(slot, core, why);
	join_queue(slot, core, now);
	wait_for(p, core, t->vruntime, flags & ~SCX_ENQ_REENQ);
	if (flags & SCX_ENQ_REENQ || occupied)
		kick_idle_for(slot);
	else if (why == NEW || why == WOKEN || (core != from && why != TAKEN))
		check_preemption(slot, core);
	else if (!core_at(core)->current)
		kick(core, SCX_KICK_IDLE);
	else if (swaps)
		swap(slot, core, swaps, from);
}

SEC("struct_ops/dispatch")
void BPF_PROG(inside_dispatch, __s32 cpu, struct task_struct *prev)
{
	bool goes_on, runnable = prev && prev->scx.flags & SCX_TASK_QUEUED;
	__u32 core = core_of(cpu), try, pick = IDLE, slot, ran, had;
	/* The thread that ran until now, if it can still run and has a slot. */
	__u32 last = runnable ? slot_of(prev) : 0;
	struct own *own = own_at(last);
	__u64 chosen;

	if (core == NO_CORE) {
		/* What it ran at the takeover is queued for a core of the machine's; should the kernel keep it here, this CPU dispatches again. */
		if (runnable && last && may_run(last))
			scx_bpf_kick_cpu(cpu, 0);
		else if (runnable)
			refill(prev, SLICE);
		return;
	}
	if (is_on(cpu) && is_back(cpu))
		set_taken(cpu, false);
	if (last && !own->yields && !must_leave(last) && may_run_on(last, core)) {
		refill(prev, SLICE);
		return;
	}
	had = core_at(core)->current;
	if (had && had != last) {
		if (is_on_its_way(had, core)) {
			if (runnable && !last)
				refill(prev, SLICE);
			return;
		}
		set_current(core, 0);
		had = 0;
	}
	slot = take_next(core);
	if (!slot)
		slot = take_overdue(core);
	if (slot && move(slot, core, had))
		return;
	/* Whether the thread that ran could go on: then it gives way only to one of its core that comes before it. */
	ran = last && !own->goes && may_run_on(last, core) ? last : 0;
	goes_on = ran && !own->yields;
	if (prev && goes_on)
		account(prev, ran, NOW);
	bpf_for(try, 0, TRIES) {
		chosen = goes_on ? picked(QUEUED, hook_next(core, ran)) : hook_pick(core);
		pick = pick_of(chosen);
		slot = (__u32)chosen;
		if (pick != QUEUED || slot == ran)
			break;
		if (move(slot, core, had))
			return;
	}
	if (ran && !own->goes) {
		/* No thread comes before it, or none does any more. An order to go elsewhere may have come while a thread was moved here: for that the
		 * kernel lets go of the core, and what is told then is told only once. */
		own->leaves = own->yields = own->stays = false;
		thread_at(ran)->stint = 0;
		refill(prev, SLICE);
		return;
	}
	if (runnable && !last) {
		refill(prev, SLICE);
		return;
	}
	if (last) {
		/* Should the kernel keep it here, since it must not migrate now, the CPU would go idle beside it. An order to go elsewhere
		 * is looked after at the next beat. */
		if (!own->goes)
			kick(core, 0);
		return;
	}
	if (waits_in_vain(core)) {
		slot = take_next(core);
		if (slot && move(slot, core, had))
			return;
	}
	if (pick == TAKE)
		fetch(slot, core);
	else if (!prev)
		rebalance(core);
}

SEC("struct_ops/running")
void BPF_PROG(inside_running, struct task_struct *p)
{
	__s32 cpu = scx_bpf_task_cpu(p);
	__u32 core = core_of(cpu);
	__u32 slot = slot_of(p);
	struct thread *t = thread_at(slot);
	struct own *own = own_at(slot);

	if (!slot || core == NO_CORE)
		return;
	own->counted = p->se.sum_exec_runtime;
	if (must_leave(slot) && !own->stays) {
		/* It was told to leave while something else ran in its place. */
		own->stays = true;
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	} else if (must_leave(slot)) {
		/* The kernel has put it back by itself: it must not migrate now. */
		own->leaves = own->stays = false;
		own->goes = 0;
		own->moves_since = 0;
		core_at(core)->leaves = 0;
	}
	if (own->on == cpu + 1 && core_at(core)->current == slot) {
		/* It was displaced, and that time is not its own. */
		t->last_ran = NOW;
		return;
	}
	if (own->moves_since && own->on != cpu + 1)
		note_move(own);
	own->on = cpu + 1;
	own->dealt = 0;
	if (core_at(core)->current != slot || t->run != RUNNING) {
		/* The kernel runs it on a core that it was not sent to. */
		t->vruntime = hook_enter(slot, core, t->run == BLOCKED ? WOKEN : TAKEN);
		if (t->run == RUNNING)
			vacate(t->core, slot);
		leave_queue(slot);
		begins(slot, core, NOW);
	}
	if (governed)
		tell_governor(core, false);
}

SEC("struct_ops/stopping")
void BPF_PROG(inside_stopping, struct task_struct *p, bool runnable)
{
	__u32 slot = slot_of(p);

	if (slot && own_at(slot)->on)
		account(p, slot, NOW);
}

SEC("struct_ops/quiescent")
void BPF_PROG(inside_quiescent, struct task_struct *p, __u64 flags)
{
	__u32 slot = slot_of(p);
	struct thread *t = thread_at(slot);
	struct own *own = own_at(slot);
	__u64 now = NOW;

	if (!slot)
		return;
	leave_queue(slot);
	/* What is only changed is queued again at once. */
	if (!(flags & SCX_DEQ_SLEEP))
		return;
	if (t->run == RUNNING)
		vacate(t->core, slot);
	t->run = BLOCKED;
	t->since = now;
	is_off(slot);
	own->moves_since = 0;
	own->futex_since = in_futex(p) ? now : 0;
	note_block(slot, now);
}

SEC("struct_ops/tick")
void BPF_PROG(inside_tick, struct task_struct *p)
{
	__s32 cpu = scx_bpf_task_cpu(p);
	__u32 core = core_of(cpu), first, slot = slot_of(p);
	struct own *own = own_at(slot);
	__u64 now = NOW;

	if (!slot || core == NO_CORE || own->on != cpu + 1)
		return;
	reweigh(p, slot);
	account(p, slot, now);
	if (governed)
		tell_governor(core, true);
	note_lacks(now);
	/* The policy wants it elsewhere meanwhile. */
	if (!may_run_on(slot, core))
		own->leaves = true;
	if (core_at(core)->queued && hook_expired(slot, core))
		own->leaves = true;
	if (rebalance(core) || waits_too_long(core) || waits_in_vain(core))
		own->leaves = true;
	if (must_leave(slot))
		refill(p, 0);
	/* A thread waits here while a core sleeps. */
	first = first_waiting(core);
	if (first)
		kick_idle_for(first);
}

SEC("struct_ops/yield")
bool BPF_PROG(inside_yield, struct task_struct *from, struct task_struct *to)
{
	__u32 core = core_of(scx_bpf_task_cpu(from)), slot = slot_of(from);

	if (to)
		return false;
	/* If no other thread waits here, it goes on at once. */
	if (!slot || core == NO_CORE) {
		refill(from, 0);
	} else if (core_at(core)->queued) {
		own_at(slot)->yields = true;
		refill(from, 0);
	}
	return false;
}

SEC("struct_ops/cpu_release")
void BPF_PROG(inside_cpu_release, __s32 cpu, struct scx_cpu_release_args *args)
{
	make_room(args);
}

SEC("struct_ops/cpu_online")
void BPF_PROG(inside_cpu_online, __s32 cpu)
{
	opened(cpu);
	tell_of_cpu(ONLINE, cpu, 0, 0);
}

SEC("struct_ops/cpu_offline")
void BPF_PROG(inside_cpu_offline, __s32 cpu)
{
	closed(cpu);
	tell_of_cpu(OFFLINE, cpu, 0, 0);
}

SEC("struct_ops.s/init")
__s32 BPF_PROG(inside_init)
{
	__s32 error;
	__u32 core;

	bpf_for(core, 0, machine.cores) {
		error = scx_bpf_create_dsq(core, -1);
		if (!error)
			error = scx_bpf_create_dsq(behind(core), -1);
		if (error)
			return error;
	}
	note_off();
	return begin_beats(beat, BEAT);
}

SEC("struct_ops/exit")
void BPF_PROG(inside_exit, struct scx_exit_info *info)
{
	note_exit(info);
}

SEC(".struct_ops.link")
struct sched_ext_ops evenkeel = {
	.select_cpu = (void *)inside_select_cpu,
	.enqueue = (void *)inside_enqueue,
	.dispatch = (void *)inside_dispatch,
	.running = (void *)inside_running,
	.stopping = (void *)inside_stopping,
	.quiescent = (void *)inside_quiescent,
	.tick = (void *)inside_tick,
	.yield = (void *)inside_yield,
	.set_weight = (void *)inside_set_weight,
	.set_cpumask = (void *)inside_set_cpumask,
	.enable = (void *)inside_enable,
	.disable = (void *)inside_disable,
	.cpu_release = (void *)inside_cpu_release,
	.cpu_online = (void *)inside_cpu_online,
	.cpu_offline = (void *)inside_cpu_offline,
	.dump_cpu = (void *)inside_dump_cpu,
	.dump_task = (void *)inside_dump_task,
	.init = (void *)inside_init,
	.exit = (void *)inside_exit,
	.flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING,
	.timeout_ms = 5000,
	.name = "evenkeel",
};
