/* SPDX-License-Identifier: GPL-2.0-only */
/* How much of a core a thread may have beside others: by its nice value, and by the weights of the control groups that it is in.
 *
 * A group's weight counts for each of its threads: one of 200 gives each of them twice the share of one outside. That of a group
 * as a whole, whatever the number of its threads, would need a queue of its own for each group. */
#pragma once

#define SCHED_IDLE 5
/* Of a group whose weight was not set. */
#define DEFAULT_SHARE 100
/* Groups within groups that are read (assumed: systemd's are five deep). */
#define DEPTH 8

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct scx_task_group {
	__u32 weight;
};

struct task_group {
	struct task_group *parent;
	struct scx_task_group scx;
};

/* Before Linux 6.18. */
struct task_group___older {
	__u32 scx_weight;
};

struct task_struct___grouped {
	struct task_group *sched_task_group;
};
#pragma clang attribute pop

static const __u32 weights[40] = {
	88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
	3906,  3121,  2501,  1991,  1586,  1277,  1024,	 820,	655,   526,   423,  335,  272,	215,
	172,   137,   110,   87,    70,	   56,	  45,	 36,	29,    23,    18,   15,
};

/* A field in a function of its own: the compiler would work its place out where a kernel that lacks the field refuses that. */
static __noinline __u32 weight_in(struct task_group *group)
{
	return group->scx.weight;
}

static __noinline __u32 weight_in_older(struct task_group___older *group)
{
	return group->scx_weight;
}

/* A group's own share, of 100. Kernels without group weights have none. */
static __always_inline __u32 share_of(struct task_group *group)
{
	struct task_group___older *older = (void *)group;

	if (bpf_core_field_exists(group->scx.weight))
		return weight_in(group);
	if (bpf_core_field_exists(older->scx_weight))
		return weight_in_older(older);
	return DEFAULT_SHARE;
}

/* Linux's sched_prio_to_weight, and WEIGHT_IDLEPRIO. */
static __always_inline __u64 own_weight(struct task_struct *p)
{
	__u32 nice = p->static_prio - 100;

	if (p->policy == SCHED_IDLE)
		return 3;
	return nice < 40 ? weights[nice] : 1024;
}

static __u64 weight_of(struct task_struct *p)
{
	struct task_struct___grouped *grouped = (void *)p;
	__u64 weight = own_weight(p), share;
	struct task_group *group;
	int depth;

	if (!bpf_core_field_exists(grouped->sched_task_group))
		return weight;
	group = grouped->sched_task_group;
	for (depth = 0; depth < DEPTH && group; depth++) {
		share = share_of(group);
		if (share && share != DEFAULT_SHARE)
			weight = weight * share / DEFAULT_SHARE;
		group = group->parent;
	}
	/* As far as the nice values go. */
	return weight < 1 ? 1 : weight > weights[0] ? weights[0] : weight;
}
