void softmax(const float *x, float *y, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++) {
        const float *row = x + i * cols;
        float *out = y + i * cols, most = row[0];
        for (int64_t j = 1; j < cols; j++) {
            most = row[j] > most ? row[j] : most;
        }
        for (int64_t j = 0; j < cols; j++) {
            out[j] = expf(row[j] - most);
        }
        float total = sum(out, cols);
        for (int64_t j = 0; j < cols; j++) {
            out[j] /= total;
        }
    }
}
