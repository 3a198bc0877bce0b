// A dense matrix into a lower and an upper one: regions that become smaller with each step.
#include <stdio.h>
#include <stdlib.h>

enum { N = 1800, CHUNK = 8 };

int main(void) {
    double(*a)[N] = malloc(N * sizeof *a);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = i == j ? N : 1.0 / (1 + (i * 7 + j * 3) % 11);
    for (int step = 0; step < N; step++) {
#pragma omp parallel for schedule(SCHEDULE)
        for (int i = step + 1; i < N; i++) {
            double factor = a[i][step] /= a[step][step];
            for (int j = step + 1; j < N; j++)
                a[i][j] -= factor * a[step][j];
        }
    }
    printf("%.8g\n", a[N - 1][N - 1]);
}
