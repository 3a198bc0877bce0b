// Heat on a plate: each point becomes the mean of its four neighbours. One region a step.
#include <stdio.h>
#include <stdlib.h>

enum { N = 1400, STEPS = 600, CHUNK = 16 };

int main(void) {
    double(*a)[N] = calloc(N, sizeof *a), (*b)[N] = calloc(N, sizeof *b);
    for (int i = 0; i < N; i++)
        a[i][0] = b[i][0] = 100;
    for (int step = 0; step < STEPS; step++) {
#pragma omp parallel for schedule(SCHEDULE)
        for (int i = 1; i < N - 1; i++)
            for (int j = 1; j < N - 1; j++)
                b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
        double(*swap)[N] = a;
        a = b;
        b = swap;
    }
    printf("%.8g\n", a[N / 2][5]);
}
