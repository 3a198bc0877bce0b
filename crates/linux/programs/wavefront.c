/* Rows of blocks, as frames in x264: a block waits for the one above it, and the threads take the rows in turn. */
#include "work.h"

#define ROWS 48
#define BLOCKS 12

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
/* How many blocks of each row are done. The row above the first one is. */
static int done[ROWS + 1];

static void *body(void *number)
{
	for (int row = 1 + (int)(long)number; row <= ROWS; row += threads) {
		for (int block = 0; block < BLOCKS; block++) {
			pthread_mutex_lock(&lock);
			while (done[row - 1] <= block)
				pthread_cond_wait(&changed, &lock);
			pthread_mutex_unlock(&lock);
			work(steps / ROWS / BLOCKS);
			pthread_mutex_lock(&lock);
			done[row]++;
			pthread_cond_broadcast(&changed);
			pthread_mutex_unlock(&lock);
		}
	}
	return 0;
}

int main(int count, char **values)
{
	arguments(count, values);
	done[0] = BLOCKS;
	start(body);
	report("wavefront");
}
