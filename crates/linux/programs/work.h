/* What the measuring programs share: work that a compiler cannot remove, and the time that a program took. */
#pragma once
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* So many steps of an LCG: computing only, so that a core's speed is all that counts. */
static void work(long steps)
{
	volatile unsigned long state = 1;

	for (long i = 0; i < steps; i++)
		state = state * 6364136223846793005UL + 1442695040888963407UL;
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static double began;
static int began_on;

/* From here on time counts. Programs that were started together begin together (together.c): by its own clock one that others keep
 * from being loaded would seem to be fast. */
static void begin(void)
{
	const char *gate = getenv("GATE");
	int ready, go;
	char none;

	if (gate && sscanf(gate, "%d %d", &ready, &go) == 2) {
		close(ready);
		if (read(go, &none, 1) < 0)
			perror("gate");
		close(go);
	}
	began_on = sched_getcpu();
	began = seconds();
}

/* NAME SECONDS, and the core on which it began: what the measuring command reads. */
static void report_ended(const char *name, double ended)
{
	printf("%s %.6f\n%s.core %d\n", name, ended - began, name, began_on);
}

static void report(const char *name)
{
	report_ended(name, seconds());
}

/* Arguments: how many threads, and millions of steps in all. */
static int threads;
static long steps;

static void arguments(int count, char **values)
{
	threads = count > 1 ? atoi(values[1]) : 4;
	steps = (count > 2 ? atol(values[2]) : 100) * 1000000L;
	if (threads < 1 || threads > 256 || steps < 1) {
		fprintf(stderr, "usage: %s THREADS MILLION_STEPS\n", values[0]);
		exit(2);
	}
	begin();
}

static void start(void *(*body)(void *))
{
	pthread_t started[threads];

	for (long i = 0; i < threads; i++)
		pthread_create(&started[i], 0, body, (void *)i);
	for (long i = 0; i < threads; i++)
		pthread_join(started[i], 0);
}
