/* SPDX-License-Identifier: GPL-2.0-only */
/* Which system call a thread makes, by number: the tracepoint of all system calls can be had without tracefs, those of single
 * ones cannot. Include kernel.h and the helpers first. */
#pragma once

enum call { OTHER, FUTEX, AFFINITY };

/* The calls of the futex family that have the same number everywhere: waitv, wake, wait, requeue. */
#define NEWER_FUTEX(number) ((number) == 449 || ((number) >= 454 && (number) <= 456))
/* 32-bit programs have the numbers of their own architecture, which x86 and Arm share here. */
#define COMPAT_FUTEX 240
#define COMPAT_FUTEX_TIME64 422
#define COMPAT_SCHED_SETAFFINITY 241

#if defined(__TARGET_ARCH_x86)

#define NATIVE_FUTEX 202
#define NATIVE_SCHED_SETAFFINITY 203
/* Programs of the x32 ABI set this bit in the native number. */
#define ABI_BIT 0x40000000

static __always_inline bool is_compat(struct task_struct *task)
{
	return task->thread_info.status & 2; /* TS_COMPAT */
}

static __always_inline __s64 number_of(struct pt_regs *regs)
{
	return regs->orig_ax;
}

static __always_inline __u64 argument(struct pt_regs *regs, bool compat, int which)
{
	if (which == 0)
		return compat ? (__u32)regs->bx : regs->di;
	if (which == 1)
		return compat ? (__u32)regs->cx : regs->si;
	return compat ? (__u32)regs->dx : regs->dx;
}

#elif defined(__TARGET_ARCH_arm64)

#define NATIVE_FUTEX 98
#define NATIVE_SCHED_SETAFFINITY 122
#define ABI_BIT 0

static __always_inline bool is_compat(struct task_struct *task)
{
	return task->thread_info.flags & (1 << 22); /* TIF_32BIT */
}

static __always_inline __s64 number_of(struct pt_regs *regs)
{
	return regs->syscallno;
}

static __always_inline __u64 argument(struct pt_regs *regs, bool compat, int which)
{
	__u64 value = which == 0 ? regs->orig_x0 : which == 1 ? regs->regs[1] : regs->regs[2];

	return compat ? (__u32)value : value;
}

#endif

static __always_inline enum call native_call(__s64 number)
{
	if (number == NATIVE_FUTEX || NEWER_FUTEX(number))
		return FUTEX;
	return number == NATIVE_SCHED_SETAFFINITY ? AFFINITY : OTHER;
}

static __always_inline enum call compat_call(__s64 number)
{
	if (number == COMPAT_FUTEX || number == COMPAT_FUTEX_TIME64 || NEWER_FUTEX(number))
		return FUTEX;
	return number == COMPAT_SCHED_SETAFFINITY ? AFFINITY : OTHER;
}

/* What a thread does in a system call of this number. Most numbers are in neither table. */
static __always_inline enum call call_of(struct task_struct *task, __s64 number)
{
	enum call native = native_call(number & ~(__s64)ABI_BIT), compat = compat_call(number);

	if (native == compat)
		return native;
	return is_compat(task) ? compat : native;
}

/* Whether a thread is in a futex call now: its registers keep the number until it leaves the kernel, and hold none
 * after an interrupt or a page fault. */
static __always_inline bool in_futex(struct task_struct *task)
{
	return call_of(task, number_of((struct pt_regs *)bpf_task_pt_regs(task))) == FUTEX;
}

/* What a thread in a futex call waits for or wakes others at, by its address. A condition variable of glibc has two words in turn, side by
 * side; in programs of 32 bits they may count as two. */
static __always_inline __u32 futex_word(struct task_struct *task)
{
	return argument((struct pt_regs *)bpf_task_pt_regs(task), is_compat(task), 0) >> 3;
}
