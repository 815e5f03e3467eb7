#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef float v16 __attribute__((vector_size(64), aligned(4), may_alias));

#define OC 8  /* output channels of a register tile */
#define NX 32 /* positions of a register tile */

/* Positions are flat indices into the input plane, p = row * w + column: the tap (i, j) of every
 * position is i * w + j further on. The last kw - 1 positions of a row are computed and dropped.
 * x: planes of `plane` floats, padded so that no tap leaves them. k: [cin * kh * kw][OC]. */
static void tile(const float *x, int64_t plane, int64_t w, const float *k, int64_t cin, int64_t kh,
                 int64_t kw, float *y, int64_t ldy)
{
    v16 acc[OC][2] = {};
    for (int64_t c = 0; c < cin; c++) {
        for (int64_t i = 0; i < kh; i++) {
            const float *row = x + c * plane + i * w;
            for (int64_t j = 0; j < kw; j++, k += OC) {
                v16 lo = *(const v16 *)(row + j), hi = *(const v16 *)(row + j + 16);
#pragma GCC unroll 8
                for (int o = 0; o < OC; o++) {
                    acc[o][0] += k[o] * lo;
                    acc[o][1] += k[o] * hi;
                }
            }
        }
    }
#pragma GCC unroll 8
    for (int o = 0; o < OC; o++) {
        *(v16 *)(y + o * ldy) = acc[o][0];
        *(v16 *)(y + o * ldy + 16) = acc[o][1];
    }
}

/* Weights of OC channels from `first` on as [taps][OC], zeros beyond cout. */
static void pack(const float *weight, float *k, int64_t first, int64_t cout, int64_t taps)
{
    for (int64_t o = 0; o < OC; o++) {
        for (int64_t t = 0; t < taps; t++) {
            k[t * OC + o] = first + o < cout ? weight[(first + o) * taps + t] : 0.0f;
        }
    }
}

static void crop(const float *flat, float bias, float *y, int64_t oh, int64_t ow, int64_t w)
{
    for (int64_t i = 0; i < oh; i++) {
        for (int64_t j = 0; j < ow; j++) {
            y[i * ow + j] = flat[i * w + j] + bias;
        }
    }
}

void conv2d(const float *x, const float *weight, const float *bias, float *y, int64_t batch,
            int64_t cin, int64_t h, int64_t w, int64_t cout, int64_t kh, int64_t kw)
{
    int64_t oh = h - kh + 1, ow = w - kw + 1, taps = cin * kh * kw;
    int64_t npos = (oh - 1) * w + ow, nflat = (npos + NX - 1) / NX * NX;
    int64_t plane = h * w + NX;
    float *image = calloc((size_t)(cin * plane + taps * OC + nflat * OC), 4);
    if (!image) {
        return;
    }
    float *k = image + cin * plane, *flat = k + taps * OC;
    for (int64_t b = 0; b < batch; b++) {
        for (int64_t c = 0; c < cin; c++) {
            memcpy(image + c * plane, x + (b * cin + c) * h * w, (size_t)(h * w) * 4);
        }
        for (int64_t o = 0; o < cout; o += OC) {
            pack(weight, k, o, cout, taps);
            for (int64_t p = 0; p < npos; p += NX) {
                tile(image + p, plane, w, k, cin, kh, kw, flat + p, nflat);
            }
            for (int64_t q = 0; q < OC && o + q < cout; q++) {
                crop(flat + q * nflat, bias[o + q], y + (b * cout + o + q) * oh * ow, oh, ow, w);
            }
        }
    }
    free(image);
}
