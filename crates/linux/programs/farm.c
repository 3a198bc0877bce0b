/* A reader, workers, and a writer with bounded queues between them, as in dedup: the first thread reads a tenth, the last
 * one writes a tenth, and all others share what is between. With two threads the first one works, too. */
#include "queue.h"

#define ITEMS 240

static struct queue read_items, written_items;
static long tenth;

static void compute(void)
{
	long item;

	while (take(&read_items, &item)) {
		work(8 * tenth);
		put(&written_items, item);
	}
	close_queue(&written_items);
}

static void *body(void *number)
{
	long thread = (long)number, item;

	if (thread == 0) {
		for (item = 0; item < ITEMS; item++) {
			work(threads > 2 ? tenth : 9 * tenth);
			put(threads > 2 ? &read_items : &written_items, item);
		}
		close_queue(threads > 2 ? &read_items : &written_items);
	} else if (thread == threads - 1) {
		while (take(&written_items, &item))
			work(tenth);
	} else {
		compute();
	}
	return 0;
}

int main(int count, char **values)
{
	arguments(count, values);
	tenth = steps / ITEMS / 10;
	if (threads == 1) {
		work(steps);
	} else {
		open_queue(&read_items, 1);
		open_queue(&written_items, threads > 2 ? threads - 2 : 1);
		start(body);
	}
	report("farm");
}
