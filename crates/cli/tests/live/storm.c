/* A storm of forks and clones, drawn from a seed. Every thread and process knows which mask the program wants it to have:
 * that of the thread that started it, or one that it has set itself. All that live on wait for the end of standard input, and then
 * tell whether their mask is the wanted one, and whether they had set it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct job {
	uint64_t seed;
	int depth;
	cpu_set_t wanted;
	int set;
};

static int cpus[2];

static uint64_t draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void busy(long us)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

static void stay(struct job *job)
{
	cpu_set_t now;
	char end;

	while (read(0, &end, 1) > 0)
		;
	sched_getaffinity(0, sizeof now, &now);
	printf("%s %s\n", CPU_EQUAL(&now, &job->wanted) ? "wanted" : CPU_COUNT(&now) < CPU_COUNT(&job->wanted) ? "smaller" : "larger",
	       job->set ? "set" : "inherited");
	fflush(stdout);
}

static void *live(void *argument);

static void start(struct job *job)
{
	struct job *next = malloc(sizeof *next);
	pthread_t thread;

	*next = *job;
	next->seed = draw(&job->seed) | 1;
	next->depth++;
	next->set = 0;
	switch (draw(&job->seed) % 3) {
	case 0:
		if (!pthread_create(&thread, 0, live, next))
			pthread_detach(thread);
		break;
	case 1:
		if (!fork()) {
			live(next);
			pthread_exit(0);
		}
		break;
	default: /* Its parent ends at once. */
		if (!fork()) {
			if (!fork()) {
				live(next);
				pthread_exit(0);
			}
			_exit(0);
		}
	}
}

static void *live(void *argument)
{
	struct job *job = argument;
	int children = job->depth == 0 ? 24 : job->depth < 3 ? draw(&job->seed) % 4 : 0;

	for (int i = 0; i < children; i++) {
		busy(draw(&job->seed) % (job->depth ? 3000 : 20000));
		if (job->depth && draw(&job->seed) % 8 == 0) {
			CPU_ZERO(&job->wanted);
			CPU_SET(cpus[draw(&job->seed) % 2], &job->wanted);
			job->set = !sched_setaffinity(0, sizeof job->wanted, &job->wanted);
		}
		if (draw(&job->seed) % 16 == 0) {
			cpu_set_t none; /* The kernel refuses this one. */
			CPU_ZERO(&none);
			CPU_SET(1023, &none);
			sched_setaffinity(0, sizeof none, &none);
		}
		start(job);
	}
	busy(draw(&job->seed) % 3000);
	while (waitpid(-1, 0, WNOHANG) > 0)
		;
	if (job->depth == 0 || draw(&job->seed) % 2)
		stay(job);
	return 0;
}

static void *leave(void *nothing)
{
	pthread_exit(nothing);
}

/* The first `pthread_exit` loads a library. In a process that is forked meanwhile that never ends: glibc resets the locks of its loader,
 * not what they guard. */
static void load_what_exits(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, 0, leave, 0))
		pthread_join(thread, 0);
}

/* A seed, and the CPUs of the test, since this process may have inherited fewer. */
int main(int count, char **words)
{
	struct job job = { .seed = strtoull(words[1], 0, 10) * 0x9e3779b97f4a7c15 | 1 };

	for (int word = 2; word < count; word++) {
		int cpu = atoi(words[word]);
		CPU_SET(cpu, &job.wanted);
		if (word < 4)
			cpus[word - 2] = cpu;
	}
	load_what_exits();
	live(&job);
	pthread_exit(0);
}
