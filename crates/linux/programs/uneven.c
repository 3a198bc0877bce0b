/* Threads of unequal shares that meet at barriers, as in water: the last one has three times as much as the first. */
#include "work.h"

#define ROUNDS 4

static pthread_barrier_t barrier;

static void *body(void *number)
{
	long thread = (long)number;
	/* From 1 to 3 in equal distances: 2 on average. */
	double share = threads > 1 ? 1 + 2.0 * thread / (threads - 1) : 2;

	for (int round = 0; round < ROUNDS; round++) {
		work(steps / threads / ROUNDS * share / 2);
		pthread_barrier_wait(&barrier);
	}
	return 0;
}

int main(int count, char **values)
{
	arguments(count, values);
	pthread_barrier_init(&barrier, 0, threads);
	start(body);
	report("uneven");
}
