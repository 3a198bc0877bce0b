/* Loops and tasks of OpenMP, of 10 ms and more for each of two threads. */
#include <omp.h>

static void work(void)
{
	volatile unsigned long state = 1;

	for (long i = 0; i < 400000; i++)
		state = state * 6364136223846793005UL + 1;
}

int main(void)
{
	omp_set_num_threads(2);
	for (int round = 0; round < 2; round++) {
#pragma omp parallel for schedule(dynamic, 2)
		for (int i = 0; i < 100; i++)
			work();
	}
#pragma omp parallel
	{
#pragma omp for schedule(guided) nowait
		for (long i = 99; i >= 0; i--)
			work();
#pragma omp for schedule(runtime)
		for (unsigned long i = 0; i < 60; i++)
			work();
	}
#pragma omp parallel
#pragma omp single
	{
#pragma omp taskloop grainsize(4)
		for (int i = 0; i < 100; i++)
			work();
		for (int i = 0; i < 30; i++) {
#pragma omp task
			work();
		}
	}
}
