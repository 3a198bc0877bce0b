/* Programs of all kinds, by name: each ends when its work is done. Words: a kind, how many threads, how much work. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long threads, work;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int (*pipes)[2];
static volatile long shared;

static void compute(long units)
{
	for (volatile long unit = 0; unit < units * 1000; unit++)
		;
}

static void *cpu(void *number)
{
	compute(work);
	return number;
}

/* Half of the work is done with the lock held. */
static void *locks(void *number)
{
	for (long turn = 0; turn < work; turn++) {
		pthread_mutex_lock(&lock);
		shared++;
		compute(10);
		pthread_mutex_unlock(&lock);
		compute(10);
	}
	return number;
}

static void *barriers(void *number)
{
	for (long turn = 0; turn < work; turn++) {
		compute(1 + (turn + (long)number) % 4 * 10);
		pthread_barrier_wait(&barrier);
	}
	return number;
}

/* How many units the first core computes in a ms, as long as nothing else runs: for a quarter of a second, since a virtual core may have to
 * stand still after each few ms. */
static long units_per_ms(void)
{
	cpu_set_t all, first;
	struct timespec began, now;
	long units = 0, ms;

	sched_getaffinity(0, sizeof all, &all);
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof first, &first);
	clock_gettime(CLOCK_MONOTONIC, &began);
	do {
		compute(10);
		units += 10;
		clock_gettime(CLOCK_MONOTONIC, &now);
		ms = (now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000;
	} while (ms < 250);
	sched_setaffinity(0, sizeof all, &all);
	return 1 + units / ms;
}

/* In each round every thread has another amount of work, of 1 to as many parts as there are threads: more of them wait for a core
 * than run, then fewer, and the one with most is the last. A part is that many ms of the first core: for how long threads wait for
 * each other's parts does not depend on how fast the machine is. */
static void *uneven(void *number)
{
	for (long turn = 0; turn < 4; turn++) {
		compute((1 + (3 * turn + (long)number) % threads) * work);
		pthread_barrier_wait(&barrier);
	}
	return number;
}

/* Each thread hands every token on to the next one. */
static void *stage(void *number)
{
	long place = (long)number;
	char token = 0;

	for (long turn = 0; turn < work; turn++) {
		if (place > 0 && read(pipes[place - 1][0], &token, 1) != 1)
			abort();
		compute(10);
		if (place < threads - 1 && write(pipes[place][1], &token, 1) != 1)
			abort();
	}
	return number;
}

/* Each process starts others that end at once. */
static void *forks(void *number)
{
	for (long turn = 0; turn < work; turn++) {
		pid_t child = fork();

		if (!child) {
			compute(1);
			_exit(0);
		}
		if (child < 0 || waitpid(child, 0, 0) != child)
			abort();
	}
	return number;
}

static void *short_life(void *number)
{
	__sync_fetch_and_add(&shared, 1);
	return number;
}

/* Each thread starts others that end at once. */
static void *storm(void *number)
{
	for (long turn = 0; turn < work; turn++) {
		pthread_t thread;

		if (pthread_create(&thread, 0, short_life, number) || pthread_join(thread, 0))
			abort();
	}
	return number;
}

/* Sleeps and computes a little, as what a user looks at does. */
static void *naps(void *number)
{
	for (long turn = 0; turn < work; turn++) {
		usleep(2000);
		compute(10);
	}
	return number;
}

/* Until it is killed. */
static void *hog(void *number)
{
	for (;;)
		compute(1);
	return number;
}

/* Until it is killed, and in the kernel nearly always: in the middle of what is read under RCU, which it may be stopped in. */
static void *faults(void *number)
{
	long size = 64 * sysconf(_SC_PAGESIZE);

	for (;;) {
		char *pages = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (pages == MAP_FAILED)
			abort();
		memset(pages, 1, size);
		munmap(pages, size);
	}
	return number;
}

/* One thread, which is not the process's first, becomes another program; the others compute until they end with that. */
static void *becomes(void *number)
{
	char units[32];

	/* From exec on no thread can be created. */
	pthread_barrier_wait(&barrier);
	if (number)
		return hog(number);
	snprintf(units, sizeof units, "%ld", work);
	execl("/proc/self/exe", "scx", "cpu", "2", units, (char *)0);
	abort();
}

static volatile int ousted_from;

/* Until the process ends; tells where it is. */
static void *shows(void *number)
{
	for (;;) {
		compute(1);
		ousted_from = sched_getcpu();
	}
	return number;
}

static double used(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Takes a thread's core for a second, as a real-time thread: the other one must go on elsewhere. Not for longer: what the kernel
 * itself has to do on that core waits. */
static void *oust(void *number)
{
	struct sched_param first = { .sched_priority = 50 };
	double own, other, end;
	pthread_t computes;
	clockid_t clock;
	cpu_set_t there;

	if (pthread_create(&computes, 0, shows, 0) || pthread_getcpuclockid(computes, &clock))
		abort();
	while (used(clock) < 0.1)
		usleep(1000);
	if (sched_setscheduler(0, SCHED_FIFO, &first))
		abort();
	CPU_ZERO(&there);
	CPU_SET(ousted_from, &there);
	if (sched_setaffinity(0, sizeof there, &there))
		abort();
	own = used(CLOCK_THREAD_CPUTIME_ID);
	other = used(clock);
	end = used(CLOCK_MONOTONIC) + 1;
	while (used(CLOCK_MONOTONIC) < end)
		compute(1);
	own = used(CLOCK_THREAD_CPUTIME_ID) - own;
	other = used(clock) - other;
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){});
	if (other > own / 2)
		puts("it goes on");
	else
		printf("%.3f s while the other had %.3f s\n", other, own);
	exit(0);
	return number;
}

/* Whether a thread is on the only core that it may use. The kernel lets it use others when that core is switched off. */
static int is_on(int cpu, const cpu_set_t *one)
{
	cpu_set_t allowed;
	int here = sched_getcpu();

	sched_getaffinity(0, sizeof allowed, &allowed);
	return here == cpu || !CPU_EQUAL(&allowed, one);
}

/* Where it runs must be where it may, whenever that changes. */
static void *wanders(void *number)
{
	cpu_set_t all, one;

	sched_getaffinity(0, sizeof all, &all);
	for (long turn = 0; turn < work; turn++) {
		int cpu = (turn + (long)number) % CPU_COUNT(&all);

		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof one, &one)) {
			/* It is switched off. */
			if (errno != EINVAL)
				abort();
			continue;
		}
		if (!is_on(cpu, &one))
			abort();
		compute(10);
		sched_yield();
		if (!is_on(cpu, &one))
			abort();
	}
	return number;
}

/* Threads of one core take turns: each yields until it is its own. One that yields has a turn of its own only when every other one has
 * had its turn, not when a slice is over, which is thousands of calls. */
static void *yields(void *number)
{
	long calls = 0;

	for (long turn = 0; turn < work; turn++) {
		for (; shared % threads != (long)number; calls++)
			sched_yield();
		shared++;
	}
	if (calls > 50 * work) {
		printf("%ld yields for %ld turns\n", calls, work);
		exit(1);
	}
	return number;
}

/* Two threads keep the big cores, 0 and 1, which both leave to themselves for a while now and then. A third one never sleeps: how often is
 * it on a big core within 20 ms of that? Prints it, of how many times that it was not on one before. */
static volatile long left_alone;

static void use_only(int first, int last)
{
	cpu_set_t these;

	CPU_ZERO(&these);
	for (int cpu = first; cpu <= last; cpu++)
		CPU_SET(cpu, &these);
	if (sched_setaffinity(0, sizeof these, &these))
		abort();
}

static void *keeps(void *number)
{
	use_only((long)number, (long)number);
	for (;;) {
		compute(1);
		if (left_alone)
			usleep(100000);
	}
	return number;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void *hot(void *number)
{
	long soon = 0, all = 0;
	pthread_t others[2];
	double begun;

	for (long core = 0; core < 2; core++)
		if (pthread_create(&others[core], 0, keeps, (void *)core))
			abort();
	for (long turn = 0; turn < work; turn++) {
		use_only(2, 3);
		for (begun = now(); now() < begun + 0.15;)
			compute(1);
		use_only(0, 3);
		for (begun = now(); now() < begun + 0.05;)
			compute(1);
		if (sched_getcpu() < 2)
			continue;
		all++;
		left_alone = 1;
		for (begun = now(); sched_getcpu() >= 2 && now() < begun + 0.02;)
			compute(1);
		soon += sched_getcpu() < 2;
		left_alone = 0;
	}
	printf("%ld of %ld\n", soon, all);
	exit(0);
	return number;
}

/* How late this machine is: real-time threads, each on a core of its own, sleep for 10 ms at a time. By thread, in ns. For the host: in a
 * guest they would do what a policy has failed to do. */
static volatile long late_by[64];

static void *late(void *number)
{
	struct sched_param first = { .sched_priority = sched_get_priority_max(SCHED_FIFO) };
	struct timespec due, now;
	cpu_set_t all, one;
	int core = -1;

	sched_getaffinity(0, sizeof all, &all);
	for (long left = (long)number + 1; left > 0; left -= CPU_ISSET(core, &all))
		core++;
	CPU_ZERO(&one);
	CPU_SET(core, &one);
	if (sched_setaffinity(0, sizeof one, &one) || sched_setscheduler(0, SCHED_FIFO, &first))
		abort();
	clock_gettime(CLOCK_MONOTONIC, &due);
	for (;;) {
		due.tv_nsec += 10000000;
		due.tv_sec += due.tv_nsec / 1000000000;
		due.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, 0);
		clock_gettime(CLOCK_MONOTONIC, &now);
		long by = (now.tv_sec - due.tv_sec) * 1000000000 + now.tv_nsec - due.tv_nsec;

		if (by > late_by[(long)number])
			late_by[(long)number] = by;
		due = now;
	}
}

/* At the end it says how late the latest was, in s. */
static void told_to_end(int signal)
{
	char text[32];
	long most = 0;

	(void)signal;
	for (int core = 0; core < 64; core++)
		most = late_by[core] > most ? late_by[core] : most;
	write(1, text, snprintf(text, sizeof text, "%ld.%09ld\n", most / 1000000000, most % 1000000000));
	_exit(0);
}

/* A service manager: it prints what it is told, and the state that sched_ext has then. */
static void *manages(void *number)
{
	struct sockaddr_un address = { AF_UNIX, "/tmp/notify" };
	int told = socket(AF_UNIX, SOCK_DGRAM, 0);
	char text[256];

	(void)number;
	if (bind(told, (struct sockaddr *)&address, sizeof address))
		abort();
	for (;;) {
		ssize_t length = read(told, text, sizeof text);
		FILE *state = fopen("/sys/kernel/sched_ext/state", "r");

		length += fread(text + length, 1, sizeof text - length, state);
		fclose(state);
		write(1, text, length);
	}
}

static const struct {
	const char *name;
	void *(*run)(void *);
} kinds[] = {
	{ "cpu", cpu },	    { "lock", locks },	 { "barrier", barriers }, { "pipe", stage }, { "fork", forks },
	{ "storm", storm }, { "nap", naps }, { "hog", hog },	  { "wander", wanders }, { "oust", oust },
	{ "fault", faults }, { "exec", becomes }, { "uneven", uneven }, { "yield", yields },
	{ "late", late },  { "manager", manages }, { "hot", hot },
};

int main(int count, char **words)
{
	pthread_t started[64];

	threads = count > 2 ? atol(words[2]) : 4;
	work = count > 3 ? atol(words[3]) : 100;
	pipes = calloc(threads, sizeof *pipes);
	pthread_barrier_init(&barrier, 0, threads);
	for (long thread = 0; thread < threads; thread++)
		if (pipe(pipes[thread]))
			abort();
	for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
		if (count < 2 || strcmp(words[1], kinds[kind].name))
			continue;
		if (kinds[kind].run == uneven)
			work *= units_per_ms();
		if (kinds[kind].run == late)
			signal(SIGTERM, told_to_end);
		for (long thread = 0; thread < threads; thread++)
			if (pthread_create(&started[thread], 0, kinds[kind].run, (void *)thread))
				abort();
		for (long thread = 0; thread < threads; thread++)
			pthread_join(started[thread], 0);
		return 0;
	}
	return 2;
}
