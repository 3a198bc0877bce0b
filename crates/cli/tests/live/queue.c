/* A reader, two workers and a writer, with queues between them. There is an item each ms; the first one keeps its worker busy for 30 ms. */
#include <pthread.h>
#include <stddef.h>
#include <time.h>

#define ITEMS 80

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	int items, put;
};

static struct queue read_items = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };
static struct queue written_items = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };

static void put(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->items++;
	queue->put++;
	/* The last one is for all who wait. */
	if (queue->put == ITEMS)
		pthread_cond_broadcast(&queue->filled);
	else
		pthread_cond_signal(&queue->filled);
	pthread_mutex_unlock(&queue->lock);
}

/* Which one it was, from 1; 0 if there is none any more. */
static int take(struct queue *queue)
{
	int item = 0;

	pthread_mutex_lock(&queue->lock);
	while (!queue->items && queue->put < ITEMS)
		pthread_cond_wait(&queue->filled, &queue->lock);
	if (queue->items)
		item = queue->put - --queue->items;
	pthread_mutex_unlock(&queue->lock);
	return item;
}

static void compute(long us)
{
	struct timespec began, now;

	clock_gettime(CLOCK_MONOTONIC, &began);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - began.tv_sec) * 1000000 + (now.tv_nsec - began.tv_nsec) / 1000 < us);
}

static void *reads(void *none)
{
	const struct timespec ms = { 0, 1000000 };

	for (int item = 0; item < ITEMS; item++) {
		nanosleep(&ms, 0);
		put(&read_items);
	}
	return none;
}

static void *works(void *none)
{
	for (int item; (item = take(&read_items));) {
		compute(item == 1 ? 30000 : 100);
		put(&written_items);
	}
	return none;
}

static void *writes(void *none)
{
	while (take(&written_items))
		compute(20);
	return none;
}

int main(void)
{
	void *(*const runs[])(void *) = { writes, works, works, reads };
	pthread_t threads[4];

	for (int thread = 0; thread < 4; thread++)
		pthread_create(&threads[thread], 0, runs[thread], 0);
	for (int thread = 0; thread < 4; thread++)
		pthread_join(threads[thread], 0);
	return 0;
}
