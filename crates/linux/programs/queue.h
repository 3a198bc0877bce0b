/* A bounded queue of numbers, closed by its last producer. */
#pragma once
#include "work.h"

#define ROOM 4

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int filled;
	int producers;
	long items[ROOM];
};

static void open_queue(struct queue *queue, int producers)
{
	pthread_mutex_init(&queue->lock, 0);
	pthread_cond_init(&queue->changed, 0);
	queue->producers = producers;
}

static void put(struct queue *queue, long item)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->filled == ROOM)
		pthread_cond_wait(&queue->changed, &queue->lock);
	queue->items[queue->filled++] = item;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

/* Whether there was another one. */
static int take(struct queue *queue, long *item)
{
	int found;

	pthread_mutex_lock(&queue->lock);
	while (queue->filled == 0 && queue->producers > 0)
		pthread_cond_wait(&queue->changed, &queue->lock);
	found = queue->filled > 0;
	if (found)
		*item = queue->items[--queue->filled];
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
	return found;
}

static void close_queue(struct queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->producers--;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}
