/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of a program into the library through which its threads share out work as they run: the loops and tasks of OpenMP. What a
 * function's arguments are is known by its cookie. Include the helpers first. */
#pragma once

/* Cookies, which are in `functions.rs`, too: what a function is, and how it differs. */
enum function {
	REGION,
	LOOP_REGION,
	LOOP,
	LOOP_END,
	TASK,
	TASK_LOOP,
	DISPATCH,
	DISPATCH_TASKS,
	PART = 15,
	/* Its iterations are dealt out in ever smaller parts. */
	GUIDED = 1 << 4,
	/* Its schedule is that of OMP_SCHEDULE. */
	AT_RUNTIME = 1 << 5,
	/* Its first argument says whether it counts upwards. */
	UPWARDS = 1 << 6,
	/* Its numbers have 32 bits. */
	NARROW = 1 << 7,
};

#if defined(__TARGET_ARCH_x86)

/* An argument of the function at whose begin the thread is, from 0. */
static __always_inline __u64 user_argument(struct pt_regs *regs, int which)
{
	__u64 value = 0;

	switch (which) {
	case 0:
		return regs->di;
	case 1:
		return regs->si;
	case 2:
		return regs->dx;
	case 3:
		return regs->cx;
	case 4:
		return regs->r8;
	case 5:
		return regs->r9;
	}
	/* The stack holds where the function returns to, and then the other arguments. */
	bpf_probe_read_user(&value, sizeof(value), (void *)(regs->sp + 8 * (which - 5)));
	return value;
}

/* Where the function was called. */
static __always_inline __u64 called_from(struct pt_regs *regs)
{
	__u64 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)regs->sp);
	return value;
}

#elif defined(__TARGET_ARCH_arm64)

static __always_inline __u64 user_argument(struct pt_regs *regs, int which)
{
	__u64 value = 0;

	if (which < 8)
		return regs->regs[which];
	bpf_probe_read_user(&value, sizeof(value), (void *)(regs->sp + 8 * (which - 8)));
	return value;
}

static __always_inline __u64 called_from(struct pt_regs *regs)
{
	return regs->regs[30];
}

#endif

static __always_inline __u64 distance(__s64 from, __s64 to)
{
	return from < to ? (__u64)to - from : (__u64)from - to;
}

static __always_inline __u32 in_pieces(__u64 iterations, __u64 each)
{
	__u64 pieces = each ? iterations / each + !!(iterations % each) : iterations;

	return pieces > 0xffffffff ? 0xffffffff : pieces;
}

/* In how many pieces of so many iterations a loop from one number to before another is dealt out. */
static __always_inline __u32 pieces_of(__s64 from, __s64 to, __s64 step, __u64 each)
{
	__u64 stride = distance(0, step), length = distance(from, to);

	return in_pieces(stride ? length / stride + !!(length % stride) : length, each);
}

/* How many tasks a loop becomes that is to have so many, or so many iterations a task: these are at least as many, unless strictly so. */
static __always_inline __u32 tasks_of(__u32 iterations, __u64 number, bool grains, bool strictly)
{
	if (!grains)
		return number < iterations ? number : iterations;
	if (strictly)
		return in_pieces(iterations, number);
	return number && iterations / number ? iterations / number : 1;
}
