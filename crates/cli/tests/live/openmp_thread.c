// A thread that the program has put on one CPU begins a region, beside the first thread's regions: says on how many CPUs it may run then, and how many the
// threads of the first thread's next region may use, if that has no loop.
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 18, ROUNDS = 4 };
static double a[N];

// Takes some milliseconds. One region, wherever it is begun.
__attribute__((noinline)) static void loop(void) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 8; k++)
            a[i] = a[i] * 0.5 + i;
}

static int own_cpus(void) {
    cpu_set_t mask;
    sched_getaffinity(0, sizeof mask, &mask);
    return CPU_COUNT(&mask);
}

static void *beside(void *threads) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(1, &mask);
    if (sched_setaffinity(0, sizeof mask, &mask)) return 0;
    int sum = 0;
#pragma omp parallel for num_threads(*(int *)threads) schedule(static) reduction(+ : sum)
    for (int i = 0; i < 10; i++)
        sum += i;
    printf("sum: %d, on %d CPUs\n", sum, own_cpus());
    return 0;
}

// How many threads the other thread's region has, and the first thread's have, if that is not for OpenMP to say.
int main(int argc, char **argv) {
    int threads = atoi(argv[1]);
    if (argc > 2) omp_set_num_threads(atoi(argv[2]));
    for (int round = 0; round < ROUNDS; round++)
        loop();
    pthread_t thread;
    if (pthread_create(&thread, 0, beside, &threads) || pthread_join(thread, 0)) return 1;
    if (threads > 1) {
        int least = CPU_SETSIZE;
#pragma omp parallel reduction(min : least)
        least = own_cpus();
        printf("each on %d CPUs at least\n", least);
    }
    for (int round = 0; round < ROUNDS; round++)
        loop();
    return 0;
}
