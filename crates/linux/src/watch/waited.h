/* SPDX-License-Identifier: GPL-2.0-only */
/* How long one thread waited for another, as it is counted here and in the scheduler of sched_ext, and read by both hosts. Include kernel.h and the
 * helpers first. */
#pragma once

/* One thread that waited, and one that it waited for. */
struct pair {
	__u32 waiter;
	__u32 waker;
};

struct pair_waits {
	__u64 waited;
	__u64 times;
};

/* Adds a wait to those of its pair, in a map. Whether there is room for it. */
static __always_inline bool add_wait(void *map, __u32 waiter, __u32 waker, __u64 waited)
{
	struct pair pair = { .waiter = waiter, .waker = waker };
	struct pair_waits first = { .waited = waited, .times = 1 }, *known;

	/* A thread that woke the one that it then waits for is not waited for: the other one had yet to run. */
	if (waiter == waker)
		return true;
	known = bpf_map_lookup_elem(map, &pair);
	if (!known)
		return !bpf_map_update_elem(map, &pair, &first, BPF_NOEXIST);
	__sync_fetch_and_add(&known->waited, waited);
	__sync_fetch_and_add(&known->times, 1);
	return true;
}
