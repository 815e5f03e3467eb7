void matmul_bias_gelu(const float *x, const float *w, const float *bias, float *y, int64_t rows,
                      int64_t cols, int64_t inner)
{
    float *column = malloc((size_t)inner * sizeof *column),
          *work = malloc((size_t)inner * sizeof *work);
    for (int64_t j = 0; j < cols; j++) {
        for (int64_t l = 0; l < inner; l++) {
            column[l] = w[l * cols + j];
        }
        for (int64_t i = 0; i < rows; i++) {
            float v = dot(x + i * inner, column, inner, work) + bias[j];
            y[i * cols + j] = 0.5f * v * (1 + erff(v * 0.70710678f));
        }
    }
    free(work);
    free(column);
}
