void matmul(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k)
{
    float *column = malloc((size_t)k * sizeof *column), *work = malloc((size_t)k * sizeof *work);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t l = 0; l < k; l++) {
            column[l] = b[l * n + j];
        }
        for (int64_t i = 0; i < m; i++) {
            c[i * n + j] = dot(a + i * k, column, k, work);
        }
    }
    free(work);
    free(column);
}
