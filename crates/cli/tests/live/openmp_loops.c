// A loop in a library.
#define _GNU_SOURCE
#include <sched.h>

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
