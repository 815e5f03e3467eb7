void conv2d(const float *x, const float *weight, const float *bias, float *y, int64_t batch,
            int64_t cin, int64_t h, int64_t w, int64_t cout, int64_t kh, int64_t kw)
{
    int64_t oh = h - kh + 1, ow = w - kw + 1, k = cin * kh * kw;
    float *window = malloc((size_t)k * sizeof *window), *work = malloc((size_t)k * sizeof *work);
    for (int64_t at = 0; at < batch * oh * ow; at++) {
        int64_t b = at / (oh * ow), i = at / ow % oh, j = at % ow;
        for (int64_t l = 0; l < k; l++) {
            int64_t c = l / (kh * kw), u = l / kw % kh, v = l % kw;
            window[l] = x[((b * cin + c) * h + i + u) * w + j + v];
        }
        for (int64_t o = 0; o < cout; o++) {
            y[((b * cout + o) * oh + i) * ow + j] = dot(window, weight + o * k, k, work) + bias[o];
        }
    }
    free(work);
    free(window);
}
