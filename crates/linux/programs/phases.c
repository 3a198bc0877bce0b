/* Serial and parallel phases in turn, as in bodytrack: a tenth of the work is done by the first thread while all others wait. */
#include "work.h"

#define ROUNDS 10

static pthread_barrier_t barrier;

static void *body(void *number)
{
	long round_steps = steps / ROUNDS;

	for (int round = 0; round < ROUNDS; round++) {
		if ((long)number == 0)
			work(round_steps / 10);
		pthread_barrier_wait(&barrier);
		work(round_steps * 9 / 10 / threads);
		pthread_barrier_wait(&barrier);
	}
	return 0;
}

int main(int count, char **values)
{
	arguments(count, values);
	pthread_barrier_init(&barrier, 0, threads);
	start(body);
	report("phases");
}
