void add_layer_norm(const float *x, const float *residual, const float *gamma, const float *beta,
                    float *y, float eps, int64_t rows, int64_t cols)
{
    float *t = malloc((size_t)cols * sizeof *t), *d = malloc((size_t)cols * sizeof *d);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < cols; j++) {
            t[j] = x[i * cols + j] + residual[i * cols + j];
        }
        float m = sum(t, cols) / (float)cols;
        for (int64_t j = 0; j < cols; j++) {
            t[j] -= m;
            d[j] = t[j] * t[j];
        }
        float inv = 1 / sqrtf(sum(d, cols) / (float)cols + eps);
        for (int64_t j = 0; j < cols; j++) {
            y[i * cols + j] = t[j] * inv * gamma[j] + beta[j];
        }
    }
    free(d);
    free(t);
}
