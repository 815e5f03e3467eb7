void row_stats(const float *x, float *mean, float *var, int64_t rows, int64_t cols)
{
    float *d = malloc((size_t)cols * sizeof *d);
    for (int64_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float m = sum(row, cols) / (float)cols;
        for (int64_t j = 0; j < cols; j++) {
            d[j] = (row[j] - m) * (row[j] - m);
        }
        mean[i] = m;
        var[i] = sum(d, cols) / (float)cols;
    }
    free(d);
}
