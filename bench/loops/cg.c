// Conjugate gradients for a grid of three dimensions: a large loop and two short ones a step, two of them with sums, after NAS's CG.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 96, ALL = N * N * N, SOLVES = 5, STEPS = 40, CHUNK = 128 };

// What the grid's matrix makes of a point: six times itself and a half, less its neighbours.
static double product(const double *p, int i, int j, int k) {
    const double *at = p + (i * N + j) * N + k;
    double sum = 6.5 * *at;
    if (i > 0)
        sum -= at[-N * N];
    if (i < N - 1)
        sum -= at[N * N];
    if (j > 0)
        sum -= at[-N];
    if (j < N - 1)
        sum -= at[N];
    if (k > 0)
        sum -= at[-1];
    if (k < N - 1)
        sum -= at[1];
    return sum;
}

int main(void) {
    double *x = calloc(ALL, sizeof *x), *r = malloc(ALL * sizeof *r), *p = malloc(ALL * sizeof *p), *q = malloc(ALL * sizeof *q);
    double before = ALL;
    for (int step = 0; step < SOLVES * STEPS; step++) {
        if (step % STEPS == 0) {
            before = ALL;
            for (int at = 0; at < ALL; at++) {
                x[at] = 0;
                r[at] = p[at] = 1;
            }
        }
        double along = 0, now = 0;
#pragma omp parallel for schedule(SCHEDULE) reduction(+ : along)
        for (int row = 0; row < N * N; row++)
            for (int k = 0; k < N; k++) {
                int at = row * N + k;
                q[at] = product(p, row / N, row % N, k);
                along += p[at] * q[at];
            }
        double alpha = before / along;
#pragma omp parallel for schedule(SCHEDULE) reduction(+ : now)
        for (int row = 0; row < N * N; row++)
            for (int at = row * N; at < (row + 1) * N; at++) {
                x[at] += alpha * p[at];
                r[at] -= alpha * q[at];
                now += r[at] * r[at];
            }
        double beta = now / before;
        before = now;
#pragma omp parallel for schedule(SCHEDULE)
        for (int row = 0; row < N * N; row++)
            for (int at = row * N; at < (row + 1) * N; at++)
                p[at] = r[at] + beta * p[at];
    }
    double norm = 0;
    for (int at = 0; at < ALL; at++)
        norm += x[at] * x[at];
    printf("%.6g\n", sqrt(norm));
}
