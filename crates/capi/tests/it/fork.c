/* A process that has used its pools forks: the child uses them, too, with workers of its own. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <evenkeel.h>

static atomic_int met;

/* Returns when two threads are in here at the same time. */
static void meet(void *context) {
    (void)context;
    atomic_fetch_add(&met, 1);
    while (atomic_load(&met) < 2) {
    }
}

static void both(void *context) {
    (void)context;
    atomic_store(&met, 0);
    if (ek_join(meet, NULL, meet, NULL) != EK_OK) {
        abort();
    }
}

static int child(void (*run)(void *), void *context) {
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        run(context);
        _exit(0);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void of_its_own(void *pool) {
    ek_pool_run(pool, both, NULL);
    ek_pool_free(pool);
}

int main(void) {
    ek_options options = ek_options_default();
    options.threads = 2;
    ek_pool *pool;
    if (ek_pool_new(&options, &pool) != EK_OK) {
        return 1;
    }
    both(NULL);
    ek_pool_run(pool, both, NULL);
    printf("the global pool in a child: %d\n", child(both, NULL));
    printf("another pool: %d\n", child(of_its_own, pool));
    ek_pool_run(pool, both, NULL);
    ek_pool_free(pool);
    puts("the parent's still work");
    return 0;
}
