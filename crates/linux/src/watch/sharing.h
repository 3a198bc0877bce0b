/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of a program into the library through which its threads share out work as they run: the loops and tasks of OpenMP. What a
 * function's arguments are is known by its cookie. A part of watch.bpf.c, whose events these are. */
#pragma once

/* Set before loading. What OMP_SCHEDULE says to GCC's library and to LLVM's: iterations at a time, 0 if all are dealt out beforehand, and whether ever fewer. */
const volatile __u64 runtime_chunk[2] = {};
const volatile __u8 runtime_guided[2] = {};

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

/* What a followed thread does with work that threads share out, in so many pieces; 0: not known. */
static __always_inline int shares(struct pt_regs *regs, __u32 kind, __u32 pieces, bool manner)
{
	__u32 tid = bpf_get_current_pid_tgid();

	if (record_of(tid))
		emit_all(bpf_ktime_get_ns(), tid, pieces, kind, called_from(regs), manner);
	return 0;
}

/* A loop whose first number, end, step and chunk are the arguments from `first` on. */
static __always_inline int shares_loop(struct pt_regs *regs, __u64 function, __u32 kind, int first)
{
	bool guided = function & GUIDED || (function & AT_RUNTIME && runtime_guided[0]);
	__u64 chunk = runtime_chunk[0];

	if (!(function & AT_RUNTIME))
		chunk = user_argument(regs, first + 3);
	else if (!chunk)
		return kind == REGION_SHARES ? shares(regs, REGION_BEGINS, 0, false) : 0;
	/* Goes on in the function of guided loops, as if that had been called. */
	else if (kind == LOOP_BEGINS && guided && !(function & UPWARDS))
		return 0;
	return shares(regs, kind,
		      pieces_of(user_argument(regs, first), user_argument(regs, first + 1), user_argument(regs, first + 2), chunk),
		      guided);
}

/* GOMP_taskloop(function, data, copy, size, alignment, flags, tasks, priority, start, end, step): if nothing is said of them, one task for
 * each thread. */
static __always_inline int shares_tasks(struct pt_regs *regs)
{
	enum { GRAINS = 1 << 9, STRICT = 1 << 14 };
	__u64 flags = user_argument(regs, 5), number = user_argument(regs, 6);
	__u32 iterations = pieces_of(user_argument(regs, 8), user_argument(regs, 9), user_argument(regs, 10), 1);

	if (!number)
		return shares(regs, TASKS, 1, true);
	return shares(regs, TASKS, tasks_of(iterations, number, flags & GRAINS, flags & STRICT), false);
}

/* __kmpc_dispatch_init_8(place, thread, schedule, first, last, step, chunk): the schedule's bits from 29 on only modify it. Static ones
 * are not shared out; what is automatic is guided. */
static __always_inline int dispatches(struct pt_regs *regs, bool narrow)
{
	enum { DYNAMIC = 35, GUIDED_CHUNKED = 36, RUNTIME = 37, AUTO = 38, STATIC_STEAL = 44 };
	__u32 schedule = user_argument(regs, 2) & 0x1fffffff;
	__s64 first = user_argument(regs, 3), last = user_argument(regs, 4);
	__s64 step = user_argument(regs, 5), chunk = user_argument(regs, 6);
	bool guided = schedule == GUIDED_CHUNKED || schedule == AUTO || (schedule == RUNTIME && runtime_guided[1]);

	if ((schedule < DYNAMIC || schedule > AUTO) && schedule != STATIC_STEAL)
		return 0;
	if (schedule == RUNTIME && !runtime_chunk[1])
		return 0;
	if (narrow) {
		first = (__s32)first;
		last = (__s32)last;
		step = (__s32)step;
		chunk = (__s32)chunk;
	}
	if (schedule == RUNTIME)
		chunk = runtime_chunk[1];
	return shares(regs, LOOP_BEGINS, pieces_of(first, step < 0 ? last - 1 : last + 1, step, chunk), guided);
}

/* __kmpc_taskloop(place, thread, task, if, first, last, step, nogroup, kind, number, ...): if nothing is said of them, ten tasks for each
 * thread. */
static __always_inline int dispatches_tasks(struct pt_regs *regs)
{
	enum { GRAINS = 1, NUMBER = 2 };
	__s64 first = 0, last = 0, step = user_argument(regs, 6);
	__u32 kind = user_argument(regs, 8), iterations;

	if (kind != GRAINS && kind != NUMBER)
		return shares(regs, TASKS, 10, true);
	bpf_probe_read_user(&first, sizeof(first), (void *)user_argument(regs, 4));
	bpf_probe_read_user(&last, sizeof(last), (void *)user_argument(regs, 5));
	iterations = pieces_of(first, step < 0 ? last - 1 : last + 1, step, 1);
	return shares(regs, TASKS, tasks_of(iterations, user_argument(regs, 9), kind == GRAINS, false), false);
}

SEC("uprobe.multi")
int called(struct pt_regs *regs)
{
	__u64 function = bpf_get_attach_cookie(regs);

	switch (function & PART) {
	case REGION:
		return shares(regs, REGION_BEGINS, 0, false);
	case LOOP_REGION:
		/* GOMP_parallel_loop_dynamic(function, data, threads, start, end, step, chunk, flags) */
		return shares_loop(regs, function, REGION_SHARES, 3);
	case LOOP:
		/* GOMP_loop_ull_dynamic_start(upwards, start, end, step, chunk, ...), and without `upwards` */
		if (function & UPWARDS)
			return shares_loop(regs, function, LOOP_BEGINS, 1);
		return shares_loop(regs, function, LOOP_BEGINS, 0);
	case LOOP_END:
		return shares(regs, LOOP_ENDS, 0, false);
	case TASK:
		return shares(regs, TASKS, 1, false);
	case TASK_LOOP:
		return shares_tasks(regs);
	case DISPATCH:
		return dispatches(regs, function & NARROW);
	case DISPATCH_TASKS:
		return dispatches_tasks(regs);
	}
	return 0;
}

SEC("uretprobe.multi")
int region_returns(struct pt_regs *regs)
{
	return shares(regs, REGION_ENDS, 0, false);
}
