/* SPDX-License-Identifier: GPL-2.0-only */
/* Who made a thread wait, counted as the scheduler core counts it (scheduler/blame.rs), and for a page whatever the policy blames. */
#pragma once

/* Waits are followed back over so many threads. */
#define LINKS 16

/* A thread's wait in the futex call is over; a waker, if there is one, ended it. */
static void released(__u32 slot, __u32 waker, __u64 waited, __u64 now)
{
	__u64 from = now - waited, to = now, began, last;
	__u32 link = waker, left;
	struct own *own;

	if (blames_waker && waker)
		__sync_fetch_and_add(&thread_at(waker)->blame, waited);
	bpf_for(left, 0, blames_waker && !notes_pairs ? 0 : LINKS) {
		if (!link)
			break;
		own = own_at(link);
		/* Once: its wait may be over again. */
		last = *(volatile __u64 *)&own->released;
		began = left < LINKS - 1 && from < last && last < to ? last : from;
		if (!blames_waker)
			__sync_fetch_and_add(&thread_at(link)->blame, to - began);
		waited_for(slot, link, to - began);
		if (began == from)
			break;
		to = began;
		link = own->released_by;
	}
	own = own_at(slot);
	own->released = waker ? now : 0;
	own->released_by = waker;
}
