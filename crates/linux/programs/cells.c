/* Threads that update cells, each under a lock of its own together with its neighbour's, as in fluidanimate: many locks, short
 * sections, and a barrier after each frame. */
#include "work.h"

#define CELLS 64
#define FRAMES 5
#define VISITS 40

static pthread_mutex_t locks[CELLS];
static pthread_barrier_t barrier;

static void *body(void *number)
{
	long part = steps / threads / FRAMES / VISITS;
	unsigned int cell = (unsigned int)(long)number;

	for (int frame = 0; frame < FRAMES; frame++) {
		for (int visit = 0; visit < VISITS; visit++) {
			/* In ascending order, so that no threads wait in a circle. */
			cell = (cell * 29 + 17) % (CELLS - 1);
			work(part / 2);
			pthread_mutex_lock(&locks[cell]);
			pthread_mutex_lock(&locks[cell + 1]);
			work(part / 2);
			pthread_mutex_unlock(&locks[cell + 1]);
			pthread_mutex_unlock(&locks[cell]);
		}
		pthread_barrier_wait(&barrier);
	}
	return 0;
}

int main(int count, char **values)
{
	arguments(count, values);
	for (int cell = 0; cell < CELLS; cell++)
		pthread_mutex_init(&locks[cell], 0);
	pthread_barrier_init(&barrier, 0, threads);
	start(body);
	report("cells");
}
