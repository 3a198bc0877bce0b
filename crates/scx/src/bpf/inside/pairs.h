/* SPDX-License-Identifier: GPL-2.0-only */
/* Which thread waited for which, for a page. */
#pragma once

/* Of more pairs some are forgotten whose last wait ended long ago. The process has added them up before, unless all waited at once. */
#define THREAD_PAIRS 8192

/* Set before loading: whether any of this is noted. */
const volatile bool notes_pairs = false;

/* One thread that waited, and one that it waited for. */
struct pair {
	__u32 waiter;
	__u32 waker;
};

struct pair_waits {
	__u64 waited;
	__u64 times;
};

/* Read by the process. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, THREAD_PAIRS);
	__type(key, struct pair);
	__type(value, struct pair_waits);
} pairs SEC(".maps");

/* The thread of one slot waited for that of another. */
static void waited_for(__u32 slot, __u32 waker, __u64 waited)
{
	struct pair pair = { .waiter = thread_at(slot)->tid, .waker = thread_at(waker)->tid };
	struct pair_waits first = { .waited = waited, .times = 1 }, *known;

	/* One that has exited has no number any more. A thread that woke the one that it then waits for is not waited for: the other one had yet to
	 * run. */
	if (!notes_pairs || !pair.waker || pair.waker == pair.waiter)
		return;
	known = bpf_map_lookup_elem(&pairs, &pair);
	if (known) {
		__sync_fetch_and_add(&known->waited, waited);
		__sync_fetch_and_add(&known->times, 1);
	} else {
		bpf_map_update_elem(&pairs, &pair, &first, BPF_NOEXIST);
	}
}
