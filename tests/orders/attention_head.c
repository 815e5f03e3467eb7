void attention_head(const float *q, const float *k, const float *v, float *y, float scale,
                    int64_t seq, int64_t dim)
{
    size_t room = (size_t)(seq > dim ? seq : dim);
    float *p = malloc(room * sizeof *p), *work = malloc(room * sizeof *work);
    float *column = malloc((size_t)(dim * seq) * sizeof *column);
    for (int64_t j = 0; j < seq; j++) {
        for (int64_t d = 0; d < dim; d++) {
            column[d * seq + j] = v[j * dim + d];
        }
    }
    for (int64_t i = 0; i < seq; i++) {
        float most = -INFINITY;
        for (int64_t j = 0; j <= i; j++) {
            p[j] = dot(q + i * dim, k + j * dim, dim, work) * scale;
            most = p[j] > most ? p[j] : most;
        }
        for (int64_t j = 0; j <= i; j++) {
            p[j] = expf(p[j] - most);
        }
        float total = sum(p, i + 1);
        for (int64_t j = 0; j <= i; j++) {
            p[j] /= total;
        }
        for (int64_t d = 0; d < dim; d++) {
            y[i * dim + d] = dot(p, column + d * seq, i + 1, work);
        }
    }
    free(column);
    free(work);
    free(p);
}
