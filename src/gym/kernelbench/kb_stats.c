#include "gym/kernelbench/kb_stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct kg_kb_stats kg_kb_stats_of(const int64_t *ns, size_t n)
{
    struct kg_kb_stats s = {NAN, NAN, NAN, NAN, n};
    if (n == 0) {
        return s;
    }
    double sum = 0, squares = 0;
    int64_t lo = ns[0], hi = ns[0];
    for (size_t i = 0; i < n; i++) {
        sum += (double)ns[i];
        lo = ns[i] < lo ? ns[i] : lo;
        hi = ns[i] > hi ? ns[i] : hi;
    }
    s.mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        double d = (double)ns[i] - s.mean;
        squares += d * d;
    }
    s.std = sqrt(squares / (double)n);
    s.min = (double)lo;
    s.max = (double)hi;
    return s;
}

double kg_kb_round3(double x)
{
    char text[40];
    if (!isfinite(x)) {
        return x;
    }
    snprintf(text, sizeof text, "%.3g", x);
    return strtod(text, NULL);
}

double kg_kb_pass_at_k(int64_t n, int64_t c, int64_t k)
{
    if (c < 0 || c > n || k < 1 || k > n) {
        return NAN;
    }
    if (n - c < k) {
        return 1.0;
    }
    double none = 1.0;
    for (int64_t i = n - c + 1; i <= n; i++) {
        none *= 1.0 - (double)k / (double)i;
    }
    return 1.0 - none;
}
