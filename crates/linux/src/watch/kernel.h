/* SPDX-License-Identifier: GPL-2.0-only */
/* The few fields of the kernel's types that are read here. Where they lie is adjusted when the program is loaded, so that
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
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
};

#define BPF_F_CURRENT_CPU 0xffffffffULL

/* The arguments of a raw tracepoint. */
struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

/* The arguments of the tracepoint of a system call's beginning. */
struct syscall {
	__u64 common;
	__s64 number;
	__u64 args[6];
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct task_struct {
	int pid;
	int tgid;
	unsigned int __state;
	struct sched_entity se;
};


#pragma clang attribute pop
