/* Cores that differ, in C: a pool on those that the command line names, as in `cores 0-3 4-7`; without arguments, on those of the machine. */
#include <stdio.h>

#include "evenkeel.h"

static void add(size_t begin, size_t end, void *value, void *context) {
    (void)context;
    for (size_t i = begin; i < end; i++) *(size_t *)value += i;
}

static void combine(void *value, const void *next, void *context) {
    (void)context;
    *(size_t *)value += *(const size_t *)next;
}

static void work(void *sum) {
    ek_reduce(0, 1000000, 0, sum, sizeof(size_t), add, combine, NULL);
}

int main(int count, char **arguments) {
    const char *big = count > 1 ? arguments[1] : NULL;
    const char *little = count > 2 ? arguments[2] : NULL;
    size_t sum = 0;

    ek_options options = ek_options_default();
    options.big = big;              /* such as "0-3", */
    options.little = little;        /* and "4-7": if the kernel does not know what is fast */
    options.techniques = "base+m";  /* none, base, base+p, base+ps, base+psm, base+m */
    ek_pool *pool;
    ek_status status = ek_pool_new(&options, &pool);
    if (status != EK_OK) {
        fprintf(stderr, "evenkeel: %s\n", ek_status_text(status));
        return 1;
    }
    ek_pool_run(pool, work, &sum);
    ek_pool_free(pool);

    printf("the sum is %zu\n", sum);
    return 0;
}
