/* Tiles of unequal cost out of one list under a lock, as in raytrace. */
#include "work.h"

#define TILES 300

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next_tile;

static void *body(void *unused)
{
	(void)unused;
	for (;;) {
		pthread_mutex_lock(&lock);
		int tile = next_tile++;
		pthread_mutex_unlock(&lock);
		if (tile >= TILES)
			return 0;
		/* One to seven parts: four on average. */
		work(steps / TILES * (1 + tile * 5 % 7) / 4);
	}
}

int main(int count, char **values)
{
	arguments(count, values);
	start(body);
	report("tiles");
}
