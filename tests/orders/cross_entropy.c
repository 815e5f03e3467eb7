void cross_entropy(const float *logits, const int32_t *label, float *loss, int64_t rows,
                   int64_t classes)
{
    float *e = malloc((size_t)classes * sizeof *e);
    for (int64_t i = 0; i < rows; i++) {
        const float *row = logits + i * classes;
        float most = row[0];
        for (int64_t j = 1; j < classes; j++) {
            most = row[j] > most ? row[j] : most;
        }
        for (int64_t j = 0; j < classes; j++) {
            e[j] = expf(row[j] - most);
        }
        loss[i] = logf(sum(e, classes)) - (row[label[i]] - most);
    }
    free(e);
}
