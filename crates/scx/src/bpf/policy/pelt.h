/* SPDX-License-Identifier: GPL-2.0-only */
/* Per-entity load tracking, as `sched/src/pelt.rs` has it, to the bit. */
#pragma once
#include "state.h"

#define PELT_PERIOD (1ULL << 20)
#define PELT_ONE (1ULL << 20)
#define PELT_FULL 1024

/* y^n in units of 2^-32, with y^32 = 1/2. */
static const __u32 pelt_decay[32] = {
	0xffffffff, 0xfa83b2da, 0xf5257d14, 0xefe4b99a, 0xeac0c6e6, 0xe5b906e6, 0xe0ccdeeb, 0xdbfbb796,
	0xd744fcc9, 0xd2a81d91, 0xce248c14, 0xc9b9bd85, 0xc5672a10, 0xc12c4cc9, 0xbd08a39e, 0xb8fbaf46,
	0xb504f333, 0xb123f581, 0xad583ee9, 0xa9a15ab4, 0xa5fed6a9, 0xa2704302, 0x9ef5325f, 0x9b8d39b9,
	0x9837f050, 0x94f4efa8, 0x91c3d373, 0x8ea4398a, 0x8b95c1e3, 0x88980e80, 0x85aac367, 0x82cd8698,
};

static __always_inline __u64 decayed(__u64 value, __u64 periods)
{
	if (periods >= 32 * 21)
		return 0;
	return (value >> (periods / 32)) * pelt_decay[periods % 32] >> 32;
}

/* Accounts for the time since the last update, which counts for so much of PELT_FULL. */
static __always_inline void accrue(struct pelt *load, __u64 now, __u32 level)
{
	__u64 delta = since(now, load->last), room = PELT_PERIOD - load->elapsed, share, whole, all;

	/* Another CPU's clock may have been a little ahead. */
	if (!delta)
		return;
	load->last = now;
	if (delta < room) {
		load->elapsed += delta;
		load->counted += delta * level / PELT_FULL;
		return;
	}
	delta -= room;
	share = (load->counted + room * level / PELT_FULL) * PELT_ONE / PELT_PERIOD;
	load->average = decayed(load->average, 1) + share - decayed(share, 1);
	whole = delta / PELT_PERIOD;
	if (whole) {
		all = PELT_ONE * level / PELT_FULL;
		load->average = decayed(load->average, whole) + all - decayed(all, whole);
	}
	load->elapsed = delta % PELT_PERIOD;
	load->counted = load->elapsed * level / PELT_FULL;
}

static __always_inline __u32 load_of(const struct pelt *load)
{
	return load->average * PELT_FULL / PELT_ONE;
}

/* What is left of a load at a later time if nothing adds to it. */
static __always_inline __u32 load_at(const struct pelt *load, __u64 now)
{
	struct pelt later = *load;

	accrue(&later, now, 0);
	return load_of(&later);
}
