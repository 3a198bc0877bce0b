// Loads a library with a loop that the rest of the program cannot see, and says what came of it: of the loop, and of what it left behind.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 200000 };
static long (*loop)(int, int *);

static void masked(const char *what) {
    cpu_set_t mask;
    sched_getaffinity(0, sizeof mask, &mask);
    printf("%s may run on %d CPUs\n", what, CPU_COUNT(&mask));
    fflush(stdout);
}

static void *thread(void *ignored) {
    masked("a new thread");
    return ignored;
}

// Of the region's threads, too.
static void *other(void *what) {
    int fewest;
    long sum = loop(N, &fewest);
    printf("%s: %ld, on %d CPUs\n", (const char *)what, sum, fewest);
    fflush(stdout);
    return 0;
}

static void joined(void *(*does)(void *), void *with) {
    pthread_t thread;
    pthread_create(&thread, 0, does, with);
    pthread_join(thread, 0);
}

int main(int argc, char **argv) {
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : 0;
    if (!library || !(loop = (long (*)(int, int *))dlsym(library, "loop"))) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int (*room)(void) = (int (*)(void))dlsym(library, "room"), (*team)(void) = (int (*)(void))dlsym(library, "team");
    void (*limit)(int) = (void (*)(int))dlsym(library, "limit");
    if (!room || !team || !limit) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    // What is asked first, before any region has begun.
    int places = room();
    printf("a team has %s threads as there are places\n", team() == places ? "as many" : "not as many");
    limit(3);
    printf("one of 3 has %d\n", team());
    for (int round = 0; round < 12; round++) {
        int fewest;
        printf("sum: %ld\n", loop(N, &fewest));
    }
    fflush(stdout);
    masked("the program");
    joined(thread, 0);
    if (system("nproc"))
        return 1;
#ifdef __clang__
    // libgomp waits there for threads that only the first process has.
    pid_t child = fork();
    if (child == 0) {
        other("a forked process");
        exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status)
        return 1;
#endif
    // From now on two threads begin regions.
    joined(other, "another thread");
    other("the first thread");
    return 0;
}
