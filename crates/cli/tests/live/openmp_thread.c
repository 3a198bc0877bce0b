// A thread that the program has put on one CPU begins a region of one thread, beside the first thread's regions: says on how many CPUs it may run then.
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 18, ROUNDS = 4 };
static double a[N];

// Takes some milliseconds.
static void loop(void) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 8; k++)
            a[i] = a[i] * 0.5 + i;
}

static void *beside(void *ignored) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(1, &mask);
    if (sched_setaffinity(0, sizeof mask, &mask)) return ignored;
    int sum = 0;
#pragma omp parallel for num_threads(1) schedule(static) reduction(+ : sum)
    for (int i = 0; i < 10; i++)
        sum += i;
    sched_getaffinity(0, sizeof mask, &mask);
    printf("sum: %d, on %d CPUs\n", sum, CPU_COUNT(&mask));
    return ignored;
}

// How many threads the first thread's regions have, if that is not for OpenMP to say.
int main(int argc, char **argv) {
    if (argc > 1) omp_set_num_threads(atoi(argv[1]));
    for (int round = 0; round < ROUNDS; round++)
        loop();
    pthread_t thread;
    if (pthread_create(&thread, 0, beside, 0) || pthread_join(thread, 0)) return 1;
    for (int round = 0; round < ROUNDS; round++)
        loop();
    return 0;
}
