// OpenMP's side of `graph`: the same tasks with the same dependences. Prints the seconds of the second of two runs.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

static void wavefront(std::vector<unsigned> &cells, size_t side) {
    const size_t row = side + 1;
#pragma omp parallel
#pragma omp single
    for (size_t i = 1; i <= side; i++)
        for (size_t j = 1; j <= side; j++) {
            unsigned *cell = &cells[i * row + j];
            const unsigned *above = cell - row, *left = cell - 1;
#pragma omp task depend(in : above[0], left[0]) depend(inout : cell[0])
            *cell = (*above > *left ? *above : *left) + 1;
        }
}

static void factor(double *a, size_t b) {
    for (size_t j = 0; j < b; j++) {
        for (size_t k = 0; k < j; k++)
            for (size_t i = j; i < b; i++) a[i * b + j] -= a[i * b + k] * a[j * b + k];
        double root = std::sqrt(a[j * b + j]);
        for (size_t i = j; i < b; i++) a[i * b + j] /= root;
        for (size_t i = 0; i < j; i++) a[i * b + j] = 0;
    }
}

static void solve(const double *l, double *a, size_t b) {
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j < b; j++) {
            double dot = 0;
            for (size_t k = 0; k < j; k++) dot += a[i * b + k] * l[j * b + k];
            a[i * b + j] = (a[i * b + j] - dot) / l[j * b + j];
        }
}

static void subtract(const double *l, const double *r, double *a, size_t b) {
    for (size_t i = 0; i < b; i++)
        for (size_t j = 0; j < b; j++) {
            double dot = 0;
            for (size_t k = 0; k < b; k++) dot += l[i * b + k] * r[j * b + k];
            a[i * b + j] -= dot;
        }
}

static void cholesky(std::vector<std::vector<double>> &tiles, size_t n, size_t b) {
    auto at = [&](size_t i, size_t j) { return tiles[i * n + j].data(); };
#pragma omp parallel
#pragma omp single
    for (size_t k = 0; k < n; k++) {
        double *diagonal = at(k, k);
#pragma omp task depend(inout : diagonal[0]) priority(2)
        factor(diagonal, b);
        for (size_t i = k + 1; i < n; i++) {
            double *tile = at(i, k);
#pragma omp task depend(in : diagonal[0]) depend(inout : tile[0]) priority(1)
            solve(diagonal, tile, b);
        }
        for (size_t i = k + 1; i < n; i++)
            for (size_t j = k + 1; j <= i; j++) {
                double *left = at(i, k), *right = at(j, k), *tile = at(i, j);
#pragma omp task depend(in : left[0], right[0]) depend(inout : tile[0])
                subtract(left, right, tile, b);
            }
    }
}

static double seconds(const std::function<void()> &f) {
    auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    const size_t side = std::strtoul(argv[2], nullptr, 10), n = std::strtoul(argv[3], nullptr, 10),
                 b = std::strtoul(argv[4], nullptr, 10);
    double time = 0;
    for (int round = 0; round < 2; round++) {
        if (!std::strcmp(argv[1], "wavefront")) {
            std::vector<unsigned> cells((side + 1) * (side + 1));
            time = seconds([&] { wavefront(cells, side); });
            if (cells.back() != 2 * side - 1) return 1;
        } else {
            std::vector<std::vector<double>> tiles(n * n);
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j <= i; j++)
                    for (size_t x = 0; x < b * b; x++) {
                        const double d = std::fabs(double(i * b + x / b) - double(j * b + x % b));
                        tiles[i * n + j].push_back(d == 0 ? double(n * b) : 1 / (1 + d));
                    }
            time = seconds([&] { cholesky(tiles, n, b); });
        }
    }
    std::printf("%.9f\n", time);
}
