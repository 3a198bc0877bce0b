/* Wake-up latency, as schbench measures it: message threads wake workers, which note how long it took until they run, compute
 * for about a millisecond and sleep. Two message threads, each with as many workers as there are cores. The workers use half
 * of the machine, so that a core is free for most wake-ups. */
#include "work.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MESSENGERS 2
#define BURST 50000L
#define SLEEP_US 4000

struct worker {
	/* 1 while it waits. */
	int waits;
	double woken;
	double *latencies;
};

static struct worker *workers;
/* How many workers of each message thread have waited so far, and how many there are that still will. */
static int arrived[MESSENGERS];
static int living[MESSENGERS];
static int rounds, cores;

static void futex_wait(int *word, int value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, 0, 0, 0);
}

static void futex_wake(int *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, 0, 0, 0);
}

static void announce(int messenger)
{
	__atomic_add_fetch(&arrived[messenger], 1, __ATOMIC_SEQ_CST);
	futex_wake(&arrived[messenger]);
}

static void *worker_body(void *number)
{
	long me = (long)number;
	struct worker *worker = &workers[me];
	int messenger = me % MESSENGERS;

	for (int round = 0; round < rounds; round++) {
		__atomic_store_n(&worker->waits, 1, __ATOMIC_SEQ_CST);
		announce(messenger);
		while (__atomic_load_n(&worker->waits, __ATOMIC_SEQ_CST))
			futex_wait(&worker->waits, 1);
		worker->latencies[round] = seconds() - worker->woken;
		work(BURST);
		usleep(SLEEP_US);
	}
	__atomic_sub_fetch(&living[messenger], 1, __ATOMIC_SEQ_CST);
	announce(messenger);
	return 0;
}

static void *messenger_body(void *number)
{
	long me = (long)number;

	for (;;) {
		int before = __atomic_load_n(&arrived[me], __ATOMIC_SEQ_CST);

		for (int i = me; i < MESSENGERS * cores; i += MESSENGERS) {
			if (!__atomic_load_n(&workers[i].waits, __ATOMIC_SEQ_CST))
				continue;
			workers[i].woken = seconds();
			__atomic_store_n(&workers[i].waits, 0, __ATOMIC_SEQ_CST);
			futex_wake(&workers[i].waits);
		}
		if (!__atomic_load_n(&living[me], __ATOMIC_SEQ_CST))
			return 0;
		futex_wait(&arrived[me], before);
	}
}

static void *body(void *number)
{
	long me = (long)number;

	return me < MESSENGERS ? messenger_body(number) : worker_body((void *)(me - MESSENGERS));
}

static int ascending(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

int main(int count, char **values)
{
	arguments(count, values);
	cores = threads;
	int number = MESSENGERS * cores;

	/* Half of the machine for twice the time. */
	rounds = steps / 2 / number / BURST;
	if (rounds < 1)
		rounds = 1;
	size_t all = (size_t)number * rounds;
	double *latencies = calloc(all, sizeof *latencies);

	workers = calloc(number, sizeof *workers);
	if (!latencies || !workers)
		return 1;
	for (int i = 0; i < number; i++) {
		workers[i].latencies = latencies + (size_t)i * rounds;
		living[i % MESSENGERS]++;
	}
	threads = MESSENGERS + number;
	start(body);
	report("wakeup");
	qsort(latencies, all, sizeof *latencies, ascending);
	printf("wakeup.p50 %.9f\n", latencies[all / 2]);
	printf("wakeup.p99 %.9f\n", latencies[all * 99 / 100]);
}
