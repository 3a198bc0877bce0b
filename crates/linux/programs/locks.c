/* Threads that do a fifth of their work under one lock. */
#include "work.h"

#define SECTIONS 400

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *body(void *unused)
{
	long part = steps / threads / SECTIONS;

	(void)unused;
	for (int section = 0; section < SECTIONS; section++) {
		work(part * 4 / 5);
		pthread_mutex_lock(&lock);
		work(part / 5);
		pthread_mutex_unlock(&lock);
	}
	return 0;
}

int main(int count, char **values)
{
	arguments(count, values);
	start(body);
	report("locks");
}
