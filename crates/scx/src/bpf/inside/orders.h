/* SPDX-License-Identifier: GPL-2.0-only */
/* Decisions carried out: threads stopped, fetched and moved. */
#pragma once

/* After so many intervals in vain a running thread is moved: `PATIENCE` of sched/src/policy/parts/fair.rs. */
#define IN_VAIN 3

/* The thread that runs on a core is to give way, to go to another core if `to` is one; `swaps` is the thread that gives way to it
 * there, if one does. */
DECISION int stop(__u32 core, __u32 to, __u32 swaps)
{
	__u32 slot = core_at(core)->current;
	struct own *own = own_at(slot);

	/* One that ends in this moment is not there any more to be told, and who has its slot next is told nothing: inside_enable. */
	if (!slot || thread_at(slot)->run != RUNNING)
		return 0;
	if (to == NO_CORE) {
		own->leaves = true;
	} else {
		if (own->goes != to + 1)
			own->moves_since = NOW;
		own->swaps = swaps;
		own->goes = to + 1;
		core_at(core)->leaves = slot;
	}
	__sync_fetch_and_add(&figures.stops, 1);
	kick(core, SCX_KICK_PREEMPT);
	return 0;
}

/* A thread is where it was told to go. How long that took counts for an eighth, as in the kernel's own averages (update_avg). */
static void note_move(struct own *own)
{
	__u64 took = since(NOW, own->moves_since);

	/* What takes longer had to wait there, which is not the move's fault. */
	if (took < BEAT)
		move_takes = (7 * move_takes + took) / 8;
	own->moves_since = 0;
}

/* A thread that runs elsewhere is to go to a core. */
static void fetch(__u32 slot, __u32 to)
{
	__u32 from = thread_at(slot)->core;

	if (core_at(from)->current == slot)
		stop(from, to, 0);
}

/* By core: whether threads have waited there for too long. */
static bool late[CORES];

/* Whether a thread that waits for a core runs there at once. Others come first where some have waited for too long. */
DECISION int check_preemption(__u32 slot, __u32 core)
{
	__u32 running = core_at(core)->current;

	if (!running)
		kick(core, SCX_KICK_IDLE);
	else if (!late[core & (CORES - 1)] && hook_preempts(slot, running, core))
		stop(core, NO_CORE, 0);
	return 0;
}

/* A thread that is woken gets an idle core, if none is faster. It is on its way there before the core has it: a dispatch there would take
 * it for one that is gone. */
static __always_inline bool claim(__u32 slot, __u32 core)
{
	thread_at(slot)->claims = core + 1;
	if (__sync_val_compare_and_swap(&core_at(core)->current, 0, slot) == 0)
		return true;
	thread_at(slot)->claims = 0;
	return false;
}

/* A thread was woken on a core that was idle, and is about to be there. */
static __always_inline bool is_on_its_way(__u32 slot, __u32 core)
{
	struct thread *t = thread_at(slot);

	/* In this order: read in another one, it could have neither. */
	return __sync_fetch_and_add(&t->claims, 0) == core + 1 || (t->run == RUNNING && t->core == core);
}

/* Sends a thread that waits in a queue to a core, if it still does. */
DECISION int send_from(__u64 queue, __u32 slot, __u32 core)
{
	struct bpf_iter_scx_dsq iterator;
	struct task_struct *p;
	int sent = 0;
	bool found = false;

	if (!bpf_iter_scx_dsq_new(&iterator, queue, 0)) {
		p = bpf_iter_scx_dsq_next(&iterator);
		if (p) {
			found = slot_of(p) == slot;
			sent = found && send(&iterator, p, cpu_of(core));
		}
		p = found ? 0 : bpf_task_from_pid(thread_at(slot)->tid);
		if (p) {
			found = slot_of(p) == slot;
			sent = found && send(&iterator, p, cpu_of(core));
			bpf_task_release(p);
		}
		/* One that exits gives its number back before it runs for the last time, or another thread of its process, which called exec,
		 * has taken it over: the whole queue is searched for those. */
		while (!found && (p = bpf_iter_scx_dsq_next(&iterator))) {
			found = slot_of(p) == slot;
			sent = found && send(&iterator, p, cpu_of(core));
		}
	}
	bpf_iter_scx_dsq_destroy(&iterator);
	return sent;
}

/* Gives a core, which had this thread or none, one that waits, if it still does. Returns whether the core has one: this one, or one
 * that was woken there in the same moment. */
DECISION int move(__u32 slot, __u32 core, __u32 had)
{
	struct thread *t = thread_at(slot);
	__u32 from = t->core;
	__s64 vruntime = from == core ? t->vruntime : hook_enter(slot, core, TAKEN);

	if (__sync_val_compare_and_swap(&core_at(core)->current, had, slot) != had)
		return true;
	if (send_from(from, slot, core) || (is_crowded(from) && send_from(behind(from), slot, core))) {
		leave_queue(slot);
		t->vruntime = vruntime;
		begins(slot, core, NOW);
		return true;
	}
	__sync_val_compare_and_swap(&core_at(core)->current, slot, had);
	__sync_fetch_and_add(&figures.stale, 1);
	return false;
}

/* Lets a core balance. Returns whether a thread comes next there. */
DECISION int rebalance(__u32 core)
{
	struct core *at = core_at(core);
	__u32 level, pick, slot, pulled = ANY(0);
	__u64 chosen, now = NOW;
	bool due_in_all;

	if (!hook_balances())
		return false;
	due_in_all = balance_due(core, place_of(core)->levels - 1);
	chosen = hook_balance(core);
	pick = pick_of(chosen);
	slot = (__u32)chosen;
	if (pick == TAKE && at->failed >= IN_VAIN) {
		at->failed = IN_VAIN - 1;
		fetch(slot, core);
	} else if (pick == TAKE) {
		at->failed++;
	} else if (pick == EXCHANGE && worth_moving(here_of(chosen))) {
		exchange(slot, core, here_of(chosen));
	} else if (pick == QUEUED) {
		at->failed = 0;
		/* An idle core fetches it, as it does whatever waits. */
		if (at->current)
			pulled = next[core & (CORES - 1)] = slot;
		else
			kick(core, SCX_KICK_IDLE);
	} else if (due_in_all) {
		at->failed = 0;
	}
	bpf_for(level, 0, LEVELS) {
		if (level < place_of(core)->levels && balance_due(core, level))
			at->balanced[level] = now;
	}
	return !!pulled;
}

