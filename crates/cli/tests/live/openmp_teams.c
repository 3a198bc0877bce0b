// Teams of libgomp's: how many threads they have, and on how many CPUs these may run.
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// What Fortran calls with an integer of eight bytes.
extern void omp_set_num_threads_8_(const long *threads);

static int cpus(void) {
    cpu_set_t mask;
    return sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 0;
}

static int team(void) {
    int threads = 0;
#pragma omp parallel
#pragma omp single
    threads = omp_get_num_threads();
    return threads;
}

// A region whose threads are all busy for so many seconds.
#define BUSY(seconds)                                                                                                                      \
    _Pragma("omp parallel") {                                                                                                              \
        double end = omp_get_wtime() + (seconds);                                                                                          \
        while (omp_get_wtime() < end)                                                                                                      \
            ;                                                                                                                              \
    }

// What to do, and for `inside` how many threads the program wants, if it says so.
int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int most = 0, threads = 0;
    if (!strcmp(what, "once")) {
#pragma omp parallel reduction(max : most, threads)
        {
            most = cpus();
            threads = omp_get_num_threads();
        }
        printf("%d threads, each on at most %d CPUs\n", threads, most);
    } else if (!strcmp(what, "inside")) {
        omp_set_max_active_levels(2);
        if (argc > 2) omp_set_num_threads(strcmp(argv[2], "all") ? atoi(argv[2]) : omp_get_num_procs());
#pragma omp parallel num_threads(2) reduction(max : most)
        most = team();
        printf("%d threads in a region inside\n", most);
    } else if (!strcmp(what, "eight bytes")) {
        const long all = cpus();
        omp_set_num_threads_8_(&all);
        printf("%d threads\n", team());
    } else if (!strcmp(what, "own number")) {
        omp_set_num_threads(2);
        for (int round = 0; round < 50; round++)
            BUSY(5e-3)
        for (int round = 0; round < 200; round++)
            BUSY(5e-5)
    } else if (!strcmp(what, "forks")) {
        team();
        const pid_t child = fork();
        if (child == 0) exit(0);
        int status;
        return waitpid(child, &status, 0) != child || status;
    } else {
        return 2;
    }
    return 0;
}
