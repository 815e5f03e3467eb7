void rms_norm_linear(const float *x, const float *gain, const float *w, float *y, float eps,
                     int64_t rows, int64_t inner, int64_t outer)
{
    float *t = malloc((size_t)inner * sizeof *t), *work = malloc((size_t)inner * sizeof *work);
    for (int64_t i = 0; i < rows; i++) {
        const float *row = x + i * inner;
        float inv = 1 / sqrtf(dot(row, row, inner, work) / (float)inner + eps);
        for (int64_t j = 0; j < inner; j++) {
            t[j] = row[j] * inv * gain[j];
        }
        for (int64_t o = 0; o < outer; o++) {
            y[i * outer + o] = dot(t, w + o * inner, inner, work);
        }
    }
    free(work);
    free(t);
}
