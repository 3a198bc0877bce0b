/* SPDX-License-Identifier: GPL-2.0-only */
/* The few fields of the kernel's types that are read here and in the scheduler of sched_ext. Where they lie is adjusted when the program is loaded, so that
 * one binary fits every kernel with BTF; which is why no generated vmlinux.h is needed. */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
};

enum {
	BPF_F_NO_PREALLOC = 1 << 0,
	BPF_F_MMAPABLE = 1 << 10,
};

#define BPF_LOCAL_STORAGE_GET_F_CREATE 1

struct bpf_timer {
	__u64 opaque[2];
} __attribute__((aligned(8)));

#define BPF_F_CURRENT_CPU 0xffffffffULL

/* The arguments of a raw tracepoint. */
struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct thread_info {
	unsigned long flags;
	__u32 cpu;
#if defined(__TARGET_ARCH_x86)
	__u32 status;
#elif defined(__TARGET_ARCH_arm64)
	__u64 preempt_count;
#endif
};

#if defined(__TARGET_ARCH_x86)
struct pcpu_hot {
	int preempt_count;
};
#endif

typedef struct cpumask {
	unsigned long bits[1];
} cpumask_t;

/* Where the kernel has sched_ext. */
struct sched_ext_entity {
	__u32 flags;
	__u64 slice;
};

struct signal_struct {
	unsigned int flags;
};

typedef struct {
	__u32 val;
} kuid_t;

struct cred {
	kuid_t uid;
	kuid_t euid;
};

struct task_struct {
	struct thread_info thread_info;
	struct signal_struct *signal;
	const struct cred *cred;
	unsigned int flags;
	int exit_state;
	int prio;
	int static_prio;
	unsigned int policy;
	int pid;
	int tgid;
	unsigned int __state;
	struct sched_entity se;
	struct sched_ext_entity scx;
	int nr_cpus_allowed;
	const cpumask_t *cpus_ptr;
	cpumask_t cpus_mask;
	char comm[16];
};

/* What a thread had in its registers when it entered the kernel. */
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long bx;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long r8;
	unsigned long r9;
	unsigned long orig_ax;
	unsigned long sp;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 orig_x0;
	__s32 syscallno;
};
#else
#error "expected x86 or arm64: add this architecture's registers here and its system calls to calls.h"
#endif

#pragma clang attribute pop
