/* Stages with bounded queues between them; the one in the middle has twice the work of each other. */
#include "work.h"

#define ITEMS 200
#define ROOM 4

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int filled;
};

static struct queue queues[256];

static void put(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->filled == ROOM)
		pthread_cond_wait(&queue->changed, &queue->lock);
	queue->filled++;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

static void take(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->filled == 0)
		pthread_cond_wait(&queue->changed, &queue->lock);
	queue->filled--;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

static void *body(void *number)
{
	long stage = (long)number;
	long share = stage == threads / 2 ? 2 : 1;

	for (int item = 0; item < ITEMS; item++) {
		if (stage > 0)
			take(&queues[stage]);
		work(steps / (threads + 1) * share / ITEMS);
		if (stage + 1 < threads)
			put(&queues[stage + 1]);
	}
	return 0;
}

int main(int count, char **values)
{
	arguments(count, values);
	for (int i = 0; i < threads; i++) {
		pthread_mutex_init(&queues[i].lock, 0);
		pthread_cond_init(&queues[i].changed, 0);
	}
	start(body);
	report("pipeline");
}
