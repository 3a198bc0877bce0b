/* Fork and join, as in cilksort: OpenMP tasks that halve the work until it is small. */
#include <omp.h>
#include "work.h"

#define DEPTH 8

static void split(long part, int depth)
{
	if (depth == 0) {
		work(part);
		return;
	}
#pragma omp task
	split(part / 2, depth - 1);
	split(part / 2, depth - 1);
#pragma omp taskwait
}

int main(int count, char **values)
{
	arguments(count, values);
	omp_set_num_threads(threads);
#pragma omp parallel
#pragma omp single
	split(steps, DEPTH);
	report("tree");
}
