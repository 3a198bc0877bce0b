/* OpenMP loops of equal iterations. Compiled with SCHEDULE static or dynamic, which is also its NAME. */
#include <omp.h>
#include "work.h"

#define LOOPS 8
#define ITERATIONS 240

int main(int count, char **values)
{
	arguments(count, values);
	omp_set_num_threads(threads);
	for (int loop = 0; loop < LOOPS; loop++) {
#pragma omp parallel for schedule(SCHEDULE)
		for (int i = 0; i < ITERATIONS; i++)
			work(steps / LOOPS / ITERATIONS);
	}
	report(NAME);
}
