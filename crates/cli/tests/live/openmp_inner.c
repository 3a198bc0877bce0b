// Regions inside the loop of a region: says on how few CPUs a thread of them may run, and on how many one of the loop may after them, in
// the round in which these are fewest.
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 4, OUTER = 64, INNER = 20000 };

// How many regions, one inside the other, may have several threads.
int main(int argc, char **argv) {
    omp_set_max_active_levels(argc > 1 ? atoi(argv[1]) : 1);
    int fewest = CPU_SETSIZE, after = CPU_SETSIZE;
    long sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int most = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum) reduction(min : fewest) reduction(max : most)
        for (int i = 0; i < OUTER; i++) {
#pragma omp parallel for num_threads(2) schedule(static) reduction(+ : sum) reduction(min : fewest)
            for (int k = 0; k < INNER; k++) {
                cpu_set_t mask;
                if (k % 1000 == 0 && sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_COUNT(&mask) < fewest)
                    fewest = CPU_COUNT(&mask);
                sum += k;
            }
            cpu_set_t mask;
            if (sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_COUNT(&mask) > most) most = CPU_COUNT(&mask);
        }
        if (most < after) after = most;
    }
    printf("sum: %ld, on %d CPUs\n", sum, fewest);
    fprintf(stderr, "after them on %d CPUs\n", after);
    return 0;
}
