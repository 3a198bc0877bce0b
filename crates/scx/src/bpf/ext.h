/* SPDX-License-Identifier: GPL-2.0-only */
/* What sched_ext declares: its operations, as far as they are used here, its constants, and the kernel's functions for
 * schedulers. What a kernel lacks is weak, and checked before it is used. */
#pragma once

/* Queues. */
#define SCX_DSQ_LOCAL 0x8000000000000002ULL
#define SCX_DSQ_LOCAL_ON 0xC000000000000000ULL
#define SCX_DSQ_GLOBAL 0x8000000000000001ULL
#define SCX_SLICE_DFL 20000000ULL

enum {
	SCX_TASK_QUEUED = 1,
	SCX_WAKE_FORK = 4,
	SCX_ENQ_WAKEUP = 1,
	SCX_DEQ_SLEEP = 1,
	SCX_KICK_IDLE = 1,
	SCX_KICK_PREEMPT = 2,
	SCX_OPS_ENQ_LAST = 2,
	SCX_OPS_ENQ_EXITING = 4,
	SCX_DSQ_ITER_REV = 1 << 16,
	PF_KTHREAD = 0x00200000,
};
#define SCX_ENQ_HEAD (1ULL << 16)
#define SCX_ENQ_PREEMPT (1ULL << 32)
/* A thread of a higher class has the core that it waited for. */
#define SCX_ENQ_REENQ (1ULL << 40)

struct scx_init_task_args;
struct scx_dump_ctx;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
enum scx_exit_kind { SCX_EXIT_NONE = 0 };

struct scx_exit_info {
	enum scx_exit_kind kind;
	__s64 exit_code;
	const char *reason;
	char *msg;
};

/* Who gets a CPU of this class. */
struct scx_cpu_release_args {
	struct task_struct *task;
};

struct rq {
	struct task_struct *curr;
};
#pragma clang attribute pop

/* The loader finds the fields by their names. */
struct sched_ext_ops {
	__s32 (*select_cpu)(struct task_struct *, __s32, __u64);
	void (*enqueue)(struct task_struct *, __u64);
	void (*dispatch)(__s32, struct task_struct *);
	void (*running)(struct task_struct *);
	void (*stopping)(struct task_struct *, bool);
	void (*tick)(struct task_struct *);
	void (*quiescent)(struct task_struct *, __u64);
	bool (*yield)(struct task_struct *, struct task_struct *);
	void (*cpu_release)(__s32, struct scx_cpu_release_args *);
	void (*set_weight)(struct task_struct *, __u32);
	void (*set_cpumask)(struct task_struct *, const struct cpumask *);
	void (*enable)(struct task_struct *);
	void (*disable)(struct task_struct *);
	void (*cpu_online)(__s32);
	void (*cpu_offline)(__s32);
	void (*dump_cpu)(struct scx_dump_ctx *, __s32, bool);
	void (*dump_task)(struct scx_dump_ctx *, struct task_struct *);
	__s32 (*init)(void);
	void (*exit)(struct scx_exit_info *);
	__u64 flags;
	__u32 timeout_ms;
	char name[128];
};

/* The state of a loop over numbers, and of one over a queue. */
struct bpf_iter_num {
	__u64 opaque[1];
} __attribute__((aligned(8)));

struct bpf_iter_scx_dsq {
	__u64 opaque[6];
} __attribute__((aligned(8)));

extern int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *, __u64, __u64) __ksym;
extern struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *) __ksym;
extern void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *) __ksym;
extern __s32 scx_bpf_create_dsq(__u64, __s32) __ksym;
extern void scx_bpf_dsq_insert(struct task_struct *, __u64, __u64, __u64) __ksym;
extern void scx_bpf_dsq_insert_vtime(struct task_struct *, __u64, __u64, __u64, __u64) __ksym;
extern bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *, struct task_struct *, __u64, __u64) __ksym;
extern bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *, struct task_struct *, __u64, __u64) __ksym;
extern void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *, __u64) __ksym;
extern void scx_bpf_dsq_move_set_slice(struct bpf_iter_scx_dsq *, __u64) __ksym;
extern bool scx_bpf_dsq_move_to_local(__u64) __ksym;
extern __s32 scx_bpf_dsq_nr_queued(__u64) __ksym;
/* The first thread of a queue, without its lock: from Linux 6.19 on. */
extern struct task_struct *scx_bpf_dsq_peek(__u64) __ksym __weak;
extern void scx_bpf_kick_cpu(__s32, __u64) __ksym;
extern __s32 scx_bpf_pick_idle_cpu(const struct cpumask *, __u64) __ksym;
extern __s32 scx_bpf_select_cpu_dfl(struct task_struct *, __s32, __u64, bool *) __ksym;
extern __s32 scx_bpf_task_cpu(const struct task_struct *) __ksym;
extern __u32 scx_bpf_nr_cpu_ids(void) __ksym;
extern __u64 scx_bpf_now(void) __ksym;
extern void scx_bpf_error_bstr(char *, unsigned long long *, __u32) __ksym;
extern void scx_bpf_dump_bstr(char *, unsigned long long *, __u32) __ksym;
extern void scx_bpf_cpuperf_set(__s32, __u32) __ksym;
extern __u32 scx_bpf_reenqueue_local(void) __ksym;
/* From Linux 6.19 on the same can be called anywhere: libbpf looks for the name without its last ending. */
extern void scx_bpf_reenqueue_local___v2___anywhere(void) __ksym __weak;
/* Who runs on a CPU: from Linux 6.18 on; before, and for some time beside it, by the CPU's queue. */
extern struct task_struct *scx_bpf_cpu_curr(__s32) __ksym __weak;
extern struct rq *scx_bpf_cpu_rq(__s32) __ksym __weak;
extern struct task_struct *bpf_task_from_pid(__s32) __ksym;
extern void bpf_task_release(struct task_struct *) __ksym;
extern bool bpf_cpumask_test_cpu(__u32, const struct cpumask *) __ksym;
extern const struct cpumask *scx_bpf_get_online_cpumask(void) __ksym;
extern void scx_bpf_put_cpumask(const struct cpumask *) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
/* From Linux 6.19 on; before, the slice is a field that can be written. */
extern bool scx_bpf_task_set_slice(struct task_struct *, __u64) __ksym __weak;
