// SPDX-License-Identifier: GPL-2.0-only
/* The decisions of the kernel's part as functions of a program, for tests: most compare them with those of the scheduler core.
 * The test writes what they read. */
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;
typedef _Bool bool;
#define true 1
#define false 0
#define __always_inline inline __attribute__((always_inline))

#include "hooks.h"

/* What exchange.h, waits.h and blame.h have from the headers that only a kernel can have. */
#define BEAT 4000000
#define bpf_for(i, from, to) FOR(i, from, to)
#define p_slot slot
static struct {
	__u64 longest_wait;
	__u64 longest_idle;
	__u64 longest_misplaced;
	__u64 exchanges;
} figures;
static __u32 cores_away;
static bool late[CORES];
static __u64 idle_since[CORES];
static bool bound_elsewhere[THREADS];

static bool may_use(__u32 slot, __u32 cpu)
{
	return !bound_elsewhere[slot];
}

static __u32 cpu_of(__u32 core)
{
	return place_of(core)->cpu;
}

static void note_wait(__u64 waits)
{
	if (waits > figures.longest_wait)
		figures.longest_wait = waits;
}

/* No queue of the test is so long that threads wait behind it. */
static __u64 ordered_since[CORES];

static __u32 first_behind(__u32 core)
{
	return 0;
}

static void close_up(__u32 core)
{
}

#include "../inside/exchange.h"

/* By core: for which one the thread there is to give way, and plus 1 for which thread, in the upper half; 0 if it is not to. */
static __u64 stopped[CORES];

static int stop(__u32 core, __u32 to, __u32 swaps)
{
	stopped[core] = (swaps + 1ULL) << 32 | to;
	return 0;
}

#include "../inside/patience.h"
#include "../inside/waits.h"

static bool blames_waker;
static struct own {
	__u64 released;
	__u32 released_by;
} owns[THREADS];

static struct own *own_at(__u32 slot)
{
	return &owns[slot];
}

/* The kernel's part has a map of them. */
#define BPF_NOEXIST 1
static void *bpf_map_lookup_elem(void *map, const void *key);
static long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags);

#include "../waited.h"

#define notes_pairs true
#define PAIRED 32
static struct pair_waits pairs[PAIRED][PAIRED];

static void *bpf_map_lookup_elem(void *map, const void *key)
{
	const struct pair *pair = key;
	struct pair_waits *known = &pairs[pair->waiter % PAIRED][pair->waker % PAIRED];

	return known->times ? known : 0;
}

static long bpf_map_update_elem(void *map, const void *key, const void *value, __u64 flags)
{
	const struct pair *pair = key;

	pairs[pair->waiter % PAIRED][pair->waker % PAIRED] = *(const struct pair_waits *)value;
	return 0;
}

static void waited_for(__u32 slot, __u32 waker, __u64 waited)
{
	add_wait(pairs, slot, waker, waited);
}

#include "../inside/blame.h"

struct machine machine;
struct core cores[CORES];
struct thread threads[THREADS];
__u64 away[CORES / 64];
__u64 present;
__u32 queues[CORES][256];

struct machine *twin_machine(void)
{
	return &machine;
}

struct core *twin_core(__u32 core)
{
	return &cores[core];
}

__u32 *twin_queue(__u32 core)
{
	return queues[core];
}

struct thread *twin_thread(__u32 slot)
{
	return &threads[slot];
}

/* So that two who write them down can see that they mean the same. */
void twin_sizes(__u64 *sizes)
{
	sizes[0] = sizeof(struct machine);
	sizes[1] = sizeof(struct core);
	sizes[2] = sizeof(struct thread);
}

void twin_begin(void)
{
	__builtin_memset(threads, 0, sizeof(threads));
	__builtin_memset(colab_turns, 0, sizeof(colab_turns));
	move_takes = 0;
	__builtin_memset(late, 0, sizeof(late));
	__builtin_memset(next, 0, sizeof(next));
	__builtin_memset(stopped, 0, sizeof(stopped));
	__builtin_memset(searched, 0, sizeof(searched));
	__builtin_memset(bound_elsewhere, 0, sizeof(bound_elsewhere));
	__builtin_memset(owns, 0, sizeof(owns));
	__builtin_memset(pairs, 0, sizeof(pairs));
	blames_waker = false;
}

/* What no simulated move costs. */
void twin_move_takes(__u64 time)
{
	move_takes = time;
}

void twin_time(__u64 time)
{
	present = time;
}

/* `by` is the waker or parent, or the core that takes it. */
__u32 twin_place(__u32 slot, __u32 why, __u32 by)
{
	return hook_place(slot, why, why == NEW || why == WOKEN ? near_of(by, why) : by);
}

__u64 twin_pick(__u32 core)
{
	return hook_pick(core);
}

__u32 twin_next(__u32 core, __u32 ran)
{
	return hook_next(core, ran);
}

__u64 twin_balance(__u32 core)
{
	return hook_balances() ? hook_balance(core) : picked(IDLE, 0);
}

__u64 twin_slice(__u32 slot, __u32 core)
{
	return hook_slice(slot, core);
}

__u64 twin_charge(__u32 slot, __u32 core, __u64 ran)
{
	return hook_charge(slot, core, ran);
}

__u64 twin_owes(__u32 running, __u32 core)
{
	return hook_owes(running, core);
}

__s64 twin_enter(__u32 slot, __u32 core, __u32 why)
{
	return hook_enter(slot, core, why);
}

int twin_expired(__u32 running, __u32 core)
{
	return hook_expired(running, core);
}

int twin_preempts(__u32 woken, __u32 running, __u32 core)
{
	return hook_preempts(woken, running, core);
}

void twin_accrue(struct pelt *load, __u64 time, __u32 level)
{
	accrue(load, time, level);
}

int twin_waits_too_long(__u32 core)
{
	return waits_too_long(core);
}

__u32 twin_comes_next(__u32 core)
{
	return next[core];
}

void twin_exchange(__u32 slot, __u32 core, __u32 here)
{
	exchange(slot, core, here);
}

__u64 twin_stopped(__u32 core)
{
	return stopped[core];
}

__u32 twin_take_overdue(__u32 core)
{
	return take_overdue(core);
}

void twin_bind_elsewhere(__u32 slot)
{
	bound_elsewhere[slot] = true;
}

void twin_blame_waker(void)
{
	blames_waker = true;
}

void twin_released(__u32 slot, __u32 waker, __u64 waited, __u64 now)
{
	released(slot, waker, waited, now);
}

__u64 twin_waited_for(__u32 slot, __u32 waker)
{
	return pairs[slot % PAIRED][waker % PAIRED].waited;
}
