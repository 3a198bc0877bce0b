// A loop in a library, and what else of OpenMP a program may want of it.
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>

// Calls at the end, which a compiler may make jumps.
int room(void) {
    return omp_get_max_threads();
}

void limit(int threads) {
    omp_set_num_threads(threads);
}

// How many threads a region has.
int team(void) {
    int threads = 0;
#pragma omp parallel
#pragma omp single
    threads = omp_get_num_threads();
    return threads;
}

// Returns the sum, and the fewest CPUs that a thread may run on.
long loop(int n, int *fewest) {
    long sum = 0;
    int least = CPU_SETSIZE;
#pragma omp parallel for schedule(static) num_threads(2) reduction(+ : sum) reduction(min : least)
    for (int i = 0; i < n; i++) {
        cpu_set_t mask;
        if (i % 1000 == 0 && sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_COUNT(&mask) < least)
            least = CPU_COUNT(&mask);
        sum += i;
    }
    *fewest = least;
    return sum;
}
