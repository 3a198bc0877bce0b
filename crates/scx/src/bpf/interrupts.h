/* SPDX-License-Identifier: GPL-2.0-only */
/* An interrupt runs in the name of the thread that it interrupted: a wake-up there is not that thread's. Include kernel.h and the
 * helpers first. */
#pragma once

/* The parts of the kernel's preemption count that count non-maskable and other interrupts, and the bit that says that what
 * interrupts leave for later runs (include/linux/preempt.h). Threads that only forbid the latter add twice that bit. */
#define IN_INTERRUPT 0x00ff0100

#if defined(__TARGET_ARCH_x86)

/* A variable of each CPU; from Linux 6.2 to 6.14 a field of one. */
extern const int __preempt_count __ksym __weak;
extern const struct pcpu_hot pcpu_hot __ksym __weak;

static __always_inline int preempt_count(void)
{
	if (bpf_ksym_exists(&__preempt_count))
		return *(int *)bpf_this_cpu_ptr(&__preempt_count);
	if (bpf_ksym_exists(&pcpu_hot))
		return ((struct pcpu_hot *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count;
	return 0;
}

#elif defined(__TARGET_ARCH_arm64)

static __always_inline int preempt_count(void)
{
	return bpf_get_current_task_btf()->thread_info.preempt_count;
}

#endif

static __always_inline bool in_interrupt(void)
{
	return preempt_count() & IN_INTERRUPT;
}
