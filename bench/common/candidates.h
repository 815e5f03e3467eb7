/* Small honest candidates, as a model writes them: plain loops, each about as fast as its
 * reference. %d is the candidate's number, which makes source and object distinct, so that nothing
 * that is kept by content can help. */
#ifndef KG_BENCH_CANDIDATES_H
#define KG_BENCH_CANDIDATES_H

struct kg_bench_candidate {
    const char *problem, *text; /* one %d */
};

#define KG_BENCH_DOT                                                                               \
    "static float dot(const float *a, const float *b, int64_t n)\n{\n"                             \
    "    float lane[16] = {0}, s = 0;\n    int64_t i = 0;\n"                                       \
    "    for (; i + 16 <= n; i += 16) {\n        for (int l = 0; l < 16; l++) {\n"                 \
    "            lane[l] += a[i + l] * b[i + l];\n        }\n    }\n"                              \
    "    for (; i < n; i++) {\n        s += a[i] * b[i];\n    }\n"                                 \
    "    for (int l = 0; l < 16; l++) {\n        s += lane[l];\n    }\n    return s;\n}\n\n"

static const struct kg_bench_candidate kg_bench_candidates[] = {
    {"axpby", "#include <stdint.h>\n\nint candidate(void)\n{\n    return %d;\n}\n\n"
              "void axpby(const float *restrict x, const float *restrict y, float *restrict z,\n"
              "           float alpha, float beta, int64_t n)\n{\n"
              "    for (int64_t i = 0; i < n; i++) {\n"
              "        z[i] = alpha * x[i] + beta * y[i];\n    }\n}\n"},
    {"softmax", "#include <math.h>\n#include <stdint.h>\n\n"
                "int candidate(void)\n{\n    return %d;\n}\n\n"
                "void softmax(const float *x, float *y, int64_t rows, int64_t cols)\n{\n"
                "    for (int64_t i = 0; i < rows; i++, x += cols, y += cols) {\n"
                "        float m = x[0], s = 0;\n"
                "        for (int64_t j = 1; j < cols; j++) {\n"
                "            m = x[j] > m ? x[j] : m;\n        }\n"
                "        for (int64_t j = 0; j < cols; j++) {\n"
                "            y[j] = expf(x[j] - m);\n            s += y[j];\n        }\n"
                "        for (int64_t j = 0; j < cols; j++) {\n"
                "            y[j] /= s;\n        }\n    }\n}\n"},
    {"rms_norm_linear",
     "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n\n"
     "int candidate(void)\n{\n    return %d;\n}\n\n" KG_BENCH_DOT
     "void rms_norm_linear(const float *x, const float *gain, const float *w, float *y, float "
     "eps,\n"
     "                     int64_t rows, int64_t inner, int64_t outer)\n{\n"
     "    float *t = malloc((size_t)inner * sizeof *t);\n"
     "    for (int64_t i = 0; t && i < rows; i++, x += inner) {\n"
     "        float inv = 1.0f / sqrtf(dot(x, x, inner) / (float)inner + eps);\n"
     "        for (int64_t p = 0; p < inner; p++) {\n"
     "            t[p] = x[p] * inv * gain[p];\n        }\n"
     "        for (int64_t o = 0; o < outer; o++) {\n"
     "            y[i * outer + o] = dot(t, w + o * inner, inner);\n        }\n    }\n"
     "    free(t);\n}\n"},
    {"attention_head",
     "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n\n"
     "int candidate(void)\n{\n    return %d;\n}\n\n" KG_BENCH_DOT
     "void attention_head(const float *q, const float *k, const float *v, float *y, float scale,\n"
     "                    int64_t seq, int64_t dim)\n{\n"
     "    float *p = malloc((size_t)seq * sizeof *p);\n"
     "    for (int64_t i = 0; p && i < seq; i++) {\n"
     "        float m = -INFINITY, s = 0;\n"
     "        for (int64_t j = 0; j <= i; j++) {\n"
     "            p[j] = scale * dot(q + i * dim, k + j * dim, dim);\n"
     "            m = p[j] > m ? p[j] : m;\n        }\n"
     "        for (int64_t d = 0; d < dim; d++) {\n"
     "            y[i * dim + d] = 0;\n        }\n"
     "        for (int64_t j = 0; j <= i; j++) {\n"
     "            p[j] = expf(p[j] - m);\n            s += p[j];\n"
     "            for (int64_t d = 0; d < dim; d++) {\n"
     "                y[i * dim + d] += p[j] * v[j * dim + d];\n            }\n        }\n"
     "        for (int64_t d = 0; d < dim; d++) {\n"
     "            y[i * dim + d] /= s;\n        }\n    }\n"
     "    free(p);\n}\n"},
};
#define KG_BENCH_CANDIDATES ((int)(sizeof kg_bench_candidates / sizeof *kg_bench_candidates))

#endif
