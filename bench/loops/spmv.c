// A sparse matrix by rows, times a vector, again and again: rows differ in length, and each reads all over the vector.
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 120000, MOST = 40, STEPS = 250, CHUNK = 1000 };

int main(void) {
    int *first = malloc((ROWS + 1) * sizeof *first), *column = malloc((size_t)ROWS * MOST * sizeof *column), count = 0;
    double *value = malloc((size_t)ROWS * MOST * sizeof *value), *x = malloc(ROWS * sizeof *x), *y = malloc(ROWS * sizeof *y);
    unsigned random = 1;
    for (int row = 0; row < ROWS; row++) {
        first[row] = count;
        x[row] = 1;
        random = random * 1664525 + 1013904223;
        for (int more = 20 + (random >> 16) % 20; more > 0; more--) {
            random = random * 1664525 + 1013904223;
            column[count] = (random >> 8) % ROWS;
            value[count++] = 0.033;
        }
    }
    first[ROWS] = count;
    for (int step = 0; step < STEPS; step++) {
#pragma omp parallel for schedule(SCHEDULE)
        for (int row = 0; row < ROWS; row++) {
            double sum = 0;
            for (int at = first[row]; at < first[row + 1]; at++)
                sum += value[at] * x[column[at]];
            y[row] = sum;
        }
        double *swap = x;
        x = y;
        y = swap;
    }
    printf("%.8g\n", x[ROWS / 3]);
}
