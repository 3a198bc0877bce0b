/* Loops, a reduction and a join in C: how far is a Monte Carlo estimate of pi off? */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "evenkeel.h"

enum { POINTS = 1000000 };

/* A point from its number: both coordinates are bits of a hash (splitmix64). */
static uint64_t hash(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Pieces of a loop get a part of the range, so the compiler sees an ordinary loop. */
static void mark_inside(size_t begin, size_t end, void *context) {
    unsigned char *inside = context;
    for (size_t i = begin; i < end; i++) {
        uint64_t bits = hash(i);
        double x = (double)(bits >> 32) / 4294967296.0, y = (double)(bits & 0xffffffffu) / 4294967296.0;
        inside[i] = x * x + y * y < 1.0;
    }
}

static void count(size_t begin, size_t end, void *value, void *context) {
    const unsigned char *inside = context;
    size_t *sum = value;
    for (size_t i = begin; i < end; i++) *sum += inside[i];
}

static void add(void *value, const void *next, void *context) {
    (void)context;
    *(size_t *)value += *(const size_t *)next;
}

struct half {
    const unsigned char *points;
    size_t len, inside;
};

static void count_half(void *context) {
    struct half *half = context;
    for (size_t i = 0; i < half->len; i++) half->inside += half->points[i];
}

static void check(ek_status status) {
    if (status != EK_OK) {
        fprintf(stderr, "evenkeel: %s\n", ek_status_text(status));
        exit(1);
    }
}

static void estimate(void *context) {
    unsigned char *inside = context;
    size_t sum = 0;
    check(ek_parallel_for(0, POINTS, 0, mark_inside, inside));
    check(ek_reduce(0, POINTS, 0, &sum, sizeof sum, count, add, inside));
    printf("%zu of %d points: pi is about %.4f\n", sum, POINTS, 4.0 * (double)sum / POINTS);

    struct half left = {inside, POINTS / 2, 0}, right = {inside + POINTS / 2, POINTS - POINTS / 2, 0};
    check(ek_join(count_half, &left, count_half, &right));
    printf("counted in two halves: %s\n", left.inside + right.inside == sum ? "the same" : "WRONG");
}

int main(void) {
    unsigned char *inside = malloc(POINTS);
    if (!inside) return 1;
    ek_options options = ek_options_default();
    options.threads = 4;
    ek_pool *pool;
    check(ek_pool_new(&options, &pool));
    check(ek_pool_run(pool, estimate, inside));
    ek_pool_free(pool);
    free(inside);
    return 0;
}
