void row_norm(const float *x, float *y, int64_t rows, int64_t cols)
{
    float *work = malloc((size_t)cols * sizeof *work);
    for (int64_t i = 0; i < rows; i++) {
        y[i] = sqrtf(dot(x + i * cols, x + i * cols, cols, work));
    }
    free(work);
}
