/* The steps of a blocked LU factorisation, as in SPLASH-2: one block of the diagonal, its row and column, then what is left of
 * the matrix, with a barrier after each. The blocks belong to threads in turn. */
#include "work.h"

#define SIZE 12

static pthread_barrier_t barrier;
static long block;

static void *body(void *number)
{
	long thread = (long)number;

	for (int k = 0; k < SIZE; k++) {
		int left = SIZE - k - 1;

		if (k % threads == thread)
			work(block);
		pthread_barrier_wait(&barrier);
		for (int i = 0; i < 2 * left; i++)
			if (i % threads == thread)
				work(block);
		pthread_barrier_wait(&barrier);
		for (int i = 0; i < left * left; i++)
			if (i % threads == thread)
				work(block);
		pthread_barrier_wait(&barrier);
	}
	return 0;
}

int main(int count, char **values)
{
	arguments(count, values);
	/* (left + 1) squared blocks in each round. */
	block = steps / (SIZE * (SIZE + 1) * (2 * SIZE + 1) / 6);
	pthread_barrier_init(&barrier, 0, threads);
	start(body);
	report("lu");
}
