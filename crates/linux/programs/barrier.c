/* Equal threads that meet at a barrier, ten times. */
#include "work.h"

#define ROUNDS 10

static pthread_barrier_t barrier;

static void *body(void *unused)
{
	(void)unused;
	for (int round = 0; round < ROUNDS; round++) {
		work(steps / threads / ROUNDS);
		pthread_barrier_wait(&barrier);
	}
	return 0;
}

int main(int count, char **values)
{
	arguments(count, values);
	pthread_barrier_init(&barrier, 0, threads);
	start(body);
	report("barrier");
}
