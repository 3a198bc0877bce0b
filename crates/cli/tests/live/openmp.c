// What OpenMP promises of loops, however they are split: each line says what came out, which must not depend on that.
#define _GNU_SOURCE
#include <omp.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000, ROUNDS = 12 };
static int done[N];
static int by[2][N];
static int own;
#pragma omp threadprivate(own)

#define PRAGMA(text) _Pragma(#text)

// Each iteration once, whatever the type, the bounds and the step, and whether the schedule is the user's.
#define COUNTED(...)                                                                                                                       \
    do {                                                                                                                                   \
        COUNT("static", static, __VA_ARGS__);                                                                                              \
        COUNT("runtime", runtime, __VA_ARGS__);                                                                                            \
    } while (0)
#define COUNT(kind, schedule_kind, name, type, first, past, compare, step)                                                                 \
    do {                                                                                                                                   \
        uint64_t count = 0, sum = 0;                                                                                                       \
        PRAGMA(omp parallel for schedule(schedule_kind) reduction(+ : count, sum))                                                         \
        for (type i = (first); i compare(past); i += (step)) {                                                                             \
            count++;                                                                                                                       \
            sum += (uint64_t)i;                                                                                                            \
        }                                                                                                                                  \
        printf("%s, %s: %llu, %llu\n", name, kind, (unsigned long long)count, (unsigned long long)sum);                                    \
    } while (0)

// The first iteration of a chunk that is not the loop's first one, of those with which threads begin: how many iterations a chunk has. Each thread waits in
// its first chunk until two have one.
static int chunk, begun, turn, here;
#pragma omp threadprivate(here)
static void take(int i) {
    int all;
    if (here == turn)
        return;
    here = turn;
#pragma omp critical
    if (i > 0 && i < chunk)
        chunk = i;
#pragma omp atomic
    begun++;
    do {
        sched_yield();
#pragma omp atomic read
        all = begun;
    } while (all < 2 && omp_get_num_threads() > 1);
}

#define INSIDE _Pragma("omp parallel")
#define CHUNKS(what, region, construct, ...)                                                                                               \
    do {                                                                                                                                   \
        chunk = N, begun = 0, turn++;                                                                                                      \
        region {                                                                                                                           \
            _Pragma(construct) for (__VA_ARGS__) take(i);                                                                                  \
        }                                                                                                                                  \
        fprintf(stderr, "chunks of 6 have %d iterations: %s\n", chunk, what);                                                             \
    } while (0)

static int wrong(const char *what) {
    printf("wrong: %s\n", what);
    return 1;
}

static int once(const char *what, int of) {
    for (int i = 0; i < N; i++)
        if (done[i] != of)
            return wrong(what);
    memset(done, 0, sizeof done);
    printf("%s: each once\n", what);
    return 0;
}

// How many threads there are to be, which is 2 if nothing is said; 0: as many as there are.
int main(int argc, char **argv) {
    int bad = 0, threads = argc > 1 ? atoi(argv[1]) : 2;
    if (threads)
        omp_set_num_threads(threads);
    for (int round = 0; round < ROUNDS; round++) {
        // In each second round a loop whose schedule is the user's is static.
        const int is_static = round % 2;
        omp_set_schedule(is_static ? omp_sched_static : omp_sched_dynamic, 0);
        COUNTED("int", int, -7, 4993, <, 1);
        COUNTED("int down", int, 4993, -7, >, -3);
#ifdef __clang__
        // GCC's own part of a thread ends beyond the last int.
        COUNTED("int to the end", int, INT_MAX - 4000, INT_MAX, <, 7);
#endif
        COUNTED("unsigned", unsigned, 5, 40005, <, 3);
        COUNTED("unsigned to the end", unsigned, UINT_MAX - 9000, UINT_MAX, <, 2);
        COUNTED("long", int64_t, -50000, 50000, <=, 11);
        COUNTED("long down", int64_t, INT64_MAX, INT64_MAX - 30000, >, -1);
        COUNTED("unsigned long", uint64_t, UINT64_MAX - 30000, UINT64_MAX, <, 5);
        COUNTED("none", int, 5, 5, <, 1);
        COUNTED("one", int, 5, 6, <, 1);
        COUNTED("fewer than threads", int, 0, 1, <, 1);

        // Equal static loops of a region give each iteration to the same thread, so that none need wait between them: also where the user has them static.
        int differ = 0;
#pragma omp parallel
        {
#pragma omp for schedule(static) nowait
            for (int i = 0; i < N; i++)
                by[0][i] = omp_get_thread_num();
#pragma omp for schedule(static) nowait
            for (int i = 0; i < N; i++) {
                by[1][i] = omp_get_thread_num();
                if (by[0][i] != by[1][i])
#pragma omp atomic
                    differ++;
            }
#pragma omp for schedule(runtime) nowait
            for (int i = 0; i < N; i++)
                if (is_static && by[0][i] != omp_get_thread_num())
#pragma omp atomic
                    differ++;
        }
        if (differ)
            bad |= wrong("nowait");

        int last = -1, first = 100;
#pragma omp parallel for schedule(static) lastprivate(last) firstprivate(first)
        for (int i = 0; i < N; i++)
            last = i + first;
        printf("lastprivate: %d\n", last);
        last = -1;
#pragma omp parallel for schedule(runtime) lastprivate(last)
        for (int i = N - 1; i >= 0; i--)
            last = i;
        printf("lastprivate by the user: %d\n", last);

#pragma omp parallel for collapse(2) schedule(static)
        for (int i = 0; i < 20; i++)
            for (int j = 0; j < N / 20; j++)
                done[i * (N / 20) + j]++;
        bad |= once("collapse", 1);

#pragma omp parallel for collapse(2) schedule(static)
        for (uint64_t i = UINT64_MAX - 20; i < UINT64_MAX; i++)
            for (uint64_t j = UINT64_MAX; j > UINT64_MAX - N / 20; j--)
                done[(i - (UINT64_MAX - 20)) * (N / 20) + (UINT64_MAX - j)]++;
        bad |= once("collapse of unsigned longs", 1);

        int threefold = 0;
#pragma omp parallel for simd schedule(static) linear(threefold : 3)
        for (int i = 0; i < N; i++) {
            done[i] += threefold == 3 * i;
            threefold += 3;
        }
        bad |= once("simd", 1) | (threefold == 3 * N ? 0 : wrong("linear"));

#pragma omp parallel for schedule(static, 7)
        for (int i = 0; i < N; i++)
            done[i]++;
        bad |= once("chunks", 1);
#pragma omp parallel for schedule(dynamic, 3)
        for (int i = 0; i < N; i++)
            done[i]++;
        bad |= once("dynamic", 1);
#pragma omp parallel for schedule(dynamic, N / 6)
        for (unsigned i = 0; i < N; i++)
            done[i]++;
        bad |= once("large chunks", 1);
#pragma omp parallel for schedule(dynamic, N / 6)
        for (long i = N - 1; i >= 0; i--)
            done[i]++;
        bad |= once("large chunks, downwards", 1);
#pragma omp parallel for schedule(dynamic, N / 6)
        for (unsigned long i = 0; i < N; i += 2)
            done[i]++, done[i + 1]++;
        bad |= once("large chunks, by twos", 1);
#pragma omp parallel for schedule(guided)
        for (int i = 0; i < N; i++)
            done[i]++;
        bad |= once("guided", 1);
#pragma omp parallel for schedule(runtime)
        for (int i = 0; i < N; i++)
            done[i]++;
        bad |= once("runtime", 1);
#pragma omp parallel for collapse(2) schedule(runtime)
        for (unsigned long i = 0; i < 20; i++)
            for (unsigned long j = 0; j < N / 20; j++)
                done[i * (N / 20) + j]++;
        bad |= once("runtime, collapse", 1);
#pragma omp parallel for ordered schedule(runtime)
        for (int i = 0; i < N; i++)
#pragma omp ordered
            done[i]++;
        bad |= once("runtime, ordered", 1);

        int next = 0, order = 1;
#pragma omp parallel for ordered schedule(static)
        for (int i = 0; i < N; i++) {
            done[i]++;
#pragma omp ordered
            order &= i == next++;
        }
        bad |= once("ordered", 1) | (order ? 0 : wrong("order"));

        // Each iteration waits for the one before.
        next = 0;
#pragma omp parallel for ordered(1) schedule(static)
        for (int i = 0; i < N; i++) {
            done[i]++;
#pragma omp ordered depend(sink : i - 1)
            order &= i == next++;
#pragma omp ordered depend(source)
        }
        bad |= once("iterations that wait", 1) | (order ? 0 : wrong("order of waits"));

#pragma omp parallel sections
        {
#pragma omp section
            done[0]++;
#pragma omp section
            done[1]++;
#pragma omp section
            done[2]++;
        }
        if (done[0] != 1 || done[1] != 1 || done[2] != 1)
            bad |= wrong("sections");
        memset(done, 0, sizeof done);

        // Loops of a region inside another one.
        omp_set_max_active_levels(2);
#pragma omp parallel for num_threads(2) schedule(static)
        for (int half = 0; half < 2; half++) {
#pragma omp parallel for num_threads(2) schedule(static)
            for (int i = half * (N / 2); i < (half + 1) * (N / 2); i++)
#pragma omp atomic
                done[i]++;
        }
        bad |= once("nested", 1);
#pragma omp parallel for num_threads(2) schedule(runtime)
        for (int tenth = 0; tenth < 10; tenth++) {
#pragma omp parallel for num_threads(2) schedule(runtime)
            for (int i = tenth * (N / 10); i < (tenth + 1) * (N / 10); i++)
#pragma omp atomic
                done[i]++;
        }
        bad |= once("nested by the user", 1);

#pragma omp teams distribute parallel for num_teams(2) thread_limit(2)
        for (int i = 0; i < N; i++)
#pragma omp atomic
            done[i]++;
        bad |= once("teams", 1);

        // Tasks beside loops.
#pragma omp parallel
        {
#pragma omp single nowait
            for (int t = 0; t < 10; t++)
#pragma omp task
                for (int i = 0; i < N; i++)
#pragma omp atomic
                    done[i]++;
#pragma omp for schedule(static)
            for (int i = 0; i < N; i++)
#pragma omp atomic
                done[i]++;
        }
        bad |= once("tasks", 11);

#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(17)
        for (int i = 0; i < N; i++)
            done[i]++;
        bad |= once("taskloop", 1);

        // What the tasks of a region add up.
        long reduced = 0;
#pragma omp parallel reduction(task, + : reduced)
#pragma omp single
        for (int t = 0; t < 20; t++)
#pragma omp task in_reduction(+ : reduced)
            for (volatile int i = 0; i < 20000; i++)
                reduced += t;
        printf("reduced by tasks: %ld\n", reduced);

        // Threads that have something of their own, and wait for each other: at a barrier, and as the program itself has it.
        int room = omp_get_max_threads(), turn = 0, *seen = calloc(room, sizeof *seen);
#pragma omp parallel
        {
            int number = omp_get_thread_num(), team = omp_get_num_threads();
            own = number;
#pragma omp barrier
            int before;
            do {
#pragma omp atomic read
                before = turn;
            } while (before != number);
#pragma omp atomic write
            turn = number + 1;
#pragma omp barrier
            if (own == number && team == room && number < room)
                seen[number]++;
#pragma omp single
            if (team != turn)
                bad |= wrong("turns");
        }
        for (int number = 0; number < room; number++)
            if (seen[number] != 1)
                bad |= wrong("threads of their own");
        free(seen);

        // What one thread has, and each other one gets.
        int differs = 0;
        own = round + 1;
#pragma omp parallel copyin(own)
        {
            int value = 0;
#pragma omp single copyprivate(value)
            value = own + 1;
            if (own != round + 1 || value != round + 2)
#pragma omp atomic
                differs++;
        }
        if (differs)
            bad |= wrong("copies");

        // A loop that ends early, then one that does not.
#pragma omp parallel
        {
#pragma omp for schedule(static)
            for (int i = 0; i < N; i++) {
#pragma omp cancel for if (i == N / 3)
            }
#pragma omp for schedule(static)
            for (int i = 0; i < N; i++)
                done[i]++;
        }
        bad |= once("cancel", 1);

        // What ends before its last statement, where that is allowed: a region behind a loop in which some threads still are, sections, tasks.
        int late = 0;
#pragma omp parallel
        {
#pragma omp for schedule(static) nowait
            for (int i = 0; i < N; i++)
                done[i]++;
#pragma omp cancel parallel
#pragma omp atomic
            late++;
        }
        bad |= once("cancel parallel", 1);
#pragma omp parallel sections
        {
#pragma omp section
            {
#pragma omp cancel sections
#pragma omp atomic
                late++;
            }
#pragma omp section
            {
#pragma omp cancel sections
#pragma omp atomic
                late++;
            }
        }
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup
        for (int t = 0; t < 20; t++)
#pragma omp task
        {
#pragma omp cancel taskgroup
#pragma omp atomic
            late++;
        }
        if (omp_get_cancellation() && late)
            bad |= wrong("end");
    }

    // How large chunks are of loops that are a region and of loops inside one, over all numbers, also where the compiler or its user decides.
    volatile int sixty = 60;
    const int last = sixty;
    omp_set_schedule(omp_sched_dynamic | omp_sched_monotonic, 6);
    CHUNKS("a region", , "omp parallel for schedule(monotonic : dynamic, 6)", int i = 0; i < last; i++);
    CHUNKS("a region, by the user", , "omp parallel for schedule(runtime)", int i = 0; i < last; i++);
    CHUNKS("inside", INSIDE, "omp for schedule(monotonic : dynamic, 6)", int i = 0; i < last; i++);
    CHUNKS("inside, long", INSIDE, "omp for schedule(monotonic : dynamic, 6)", unsigned long i = 0; i < (unsigned long)last; i++);
    CHUNKS("inside, by the user", INSIDE, "omp for schedule(runtime)", int i = 0; i < last; i++);
    CHUNKS("inside, long, by the user", INSIDE, "omp for schedule(runtime)", unsigned long i = 0; i < (unsigned long)last; i++);
    long sum = 0;
    CHUNKS("inside, tasks", INSIDE, "omp for schedule(monotonic : dynamic, 6) reduction(task, + : sum)", int i = 0; i < last; i++);
    CHUNKS("inside, tasks, long", INSIDE, "omp for schedule(monotonic : dynamic, 6) reduction(task, + : sum)",
           unsigned long i = 0; i < (unsigned long)last; i++);
    CHUNKS("inside, tasks, by the user", INSIDE, "omp for schedule(runtime) reduction(task, + : sum)", int i = 0; i < last; i++);

    // A loop that the user has static: how much of it is done on the first CPU in its first run, and by the first thread when it has been measured.
    int mine = 0;
    static double a[1 << 16];
    omp_set_schedule(omp_sched_static, 0);
    for (int round = 0; round < 3; round++) {
        int there = mine = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : mine, there)
        for (int i = 0; i < 1 << 16; i++) {
            for (int k = 0; k < 8; k++)
                a[i] = a[i] * 0.5 + i;
            there += sched_getcpu() == 0;
            mine += omp_get_thread_num() == 0;
        }
        if (round == 0) fprintf(stderr, "the user's: CPU 0 did %d of %d\n", there, 1 << 16);
    }
    fprintf(stderr, "the user's: the first thread did %d of %d\n", mine, 1 << 16);

    // What the first thread was given, of a loop that takes long enough to be measured.
    for (int round = 0; round < 3; round++) {
        mine = 0;
#pragma omp parallel for schedule(static) reduction(+ : mine)
        for (int i = 0; i < 1 << 16; i++) {
            for (int k = 0; k < 8; k++)
                a[i] = a[i] * 0.5 + i;
            mine += omp_get_thread_num() == 0;
        }
    }
    fprintf(stderr, "the first of %d threads did %d of %d\n", omp_get_max_threads(), mine, 1 << 16);
    return bad;
}
