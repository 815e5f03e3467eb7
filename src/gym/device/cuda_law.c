/* Draws input values on a GPU: computes a law's parameters on the host, and launches the kernel. */
#include "gym/device/cuda.h"
#include "gym/device/device_law.h"

struct law { /* as in kernels/draw.cu */
    uint64_t key0, key1, stream;
    double a, b, least, top, constant, spike;
    int64_t from;
    uint64_t range, spike_at;
    uint32_t kind;
    int dtype;
};

/* The range of an integer dtype. */
static void ends_of(enum kg_tdtype dtype, int64_t *least, int64_t *most)
{
    unsigned bits = (unsigned)(8 * kg_tdtype_bytes(dtype));
    bool positive = dtype == KG_TD_U8 || dtype == KG_TD_BOOL;
    *most = dtype == KG_TD_BOOL ? 1 : positive ? UINT8_MAX : INT64_MAX >> (64 - bits);
    *least = positive ? 0 : -*most - 1;
}

/* True for laws that kg_fill_narrow draws, which is several times faster. */
static bool narrow(enum kg_tdtype dtype, uint32_t kind)
{
    return kg_tdtype_floating(dtype) && dtype != KG_TD_F64 &&
           (kind == KG_DJ_UNIFORM || kind == KG_DJ_NORMAL);
}

void kg_cuda_fill(struct kg_device *d, uint64_t dst, enum kg_tdtype dtype, uint64_t n,
                  const struct kg_dj_law *law)
{
    struct kg_cuda *c = kg_cuda_of(d);
    struct kg_dj_plan plan;
    int64_t least = 0, most = 0;
    if (n == 0) {
        return;
    }
    kg_dj_plan_of(dtype, n, law, &plan);
    ends_of(dtype, &least, &most);
    struct law l = {
        .key0 = law->key.w[0],
        .key1 = law->key.w[1],
        .stream = law->stream,
        .a = plan.a,
        .b = plan.b,
        .least = plan.least,
        .top = plan.top,
        .constant = plan.constant,
        .spike = plan.spike,
        .from = plan.from,
        .range = plan.range,
        .spike_at = plan.spike_at,
        .kind = law->kind,
        .dtype = (int)dtype,
    };
    if (dtype == KG_TD_BOOL && law->kind == KG_DJ_CONSTANT) {
        l.constant = l.constant != 0;
    }
    void *params[] = {&dst, &n, &l, &least, &most};
    if (narrow(dtype, law->kind)) { /* it takes the first three parameters only */
        kg_cuda_launch(c, KG_CUDA_fill_narrow, kg_cuda_blocks(c, n / 16, UINT32_MAX), 1, params);
        return;
    }
    kg_cuda_launch(c, KG_CUDA_fill, kg_cuda_blocks(c, n / 8, UINT32_MAX), 1, params);
}
