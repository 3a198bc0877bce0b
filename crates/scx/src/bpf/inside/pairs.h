/* SPDX-License-Identifier: GPL-2.0-only */
/* Which thread waited for which, for a page. */
#pragma once

/* Of more pairs some are forgotten whose last wait ended long ago. The process has added them up before, unless all waited at once. */
#define THREAD_PAIRS 8192

/* Set before loading: whether any of this is noted. */
const volatile bool notes_pairs = false;

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
	__u32 tid = thread_at(waker)->tid;

	/* One that has exited has no number any more. */
	if (notes_pairs && tid)
		add_wait(&pairs, thread_at(slot)->tid, tid, waited);
}
