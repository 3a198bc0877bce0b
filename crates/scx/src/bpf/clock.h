/* SPDX-License-Identifier: GPL-2.0-only */
/* What a part does by the clock, and how it gives the machine up when the process is gone. */
#pragma once

#define CLOCK_MONOTONIC 1

struct beat {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct beat);
} beats SEC(".maps");

typedef int on_beat(void *map, __u32 *key, struct beat *beat);

/* Has a function called after so long. It has itself called again. */
static __always_inline __s32 begin_beats(on_beat *called, __u64 period)
{
	__u32 zero = 0;
	struct beat *first = bpf_map_lookup_elem(&beats, &zero);

	if (!first)
		return -2;
	bpf_timer_init(&first->timer, &beats, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&first->timer, called);
	return bpf_timer_start(&first->timer, period, 0);
}

/* Not constant: the verifier takes it for memory that is written to. */
static char stopped[] = "the process that decides has stopped";

/* Gives the machine back if the process does not answer. It looks many times in half of this time, also when nothing happens: if it does not, it
 * is missed, which waits for it as an event does. Not at once: when the machine itself has stood still, as a guest may, the process has all
 * of its time from then on. */
static bool gives_up(__u64 now)
{
	unsigned long long none = 0;

	if (!heard)
		return false;
	if (now > heard + gone_after / 2)
		pending(now);
	if (!silent_for(now, gone_after))
		return false;
	scx_bpf_error_bstr(stopped, &none, 0);
	return true;
}
