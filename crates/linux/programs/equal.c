/* Equal threads that meet once, at the end. */
#include "work.h"

static void *body(void *unused)
{
	(void)unused;
	work(steps / threads);
	return 0;
}

int main(int count, char **values)
{
	arguments(count, values);
	start(body);
	report("equal");
}
