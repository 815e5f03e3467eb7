/* Opens a device by its name, and two helpers that all devices share: the poison word, and the test
 * for degenerate answers. */
#include "gym/device/device.h"

#include <string.h>

#include "gym/device/cuda.h"
#include "gym/verify/compare.h"

#define LOOKED_AT 4096

static const struct kg_device_ops *const rows[] = {&kg_device_cpu, &kg_device_cuda};

/* True if the row serves this name; "fake" is host memory too. */
static bool serves(const struct kg_device_ops *ops, const char *name)
{
    size_t n = strlen(ops->kind);
    bool host = ops == &kg_device_cpu && strcmp(name, "fake") == 0;
    return host || (strncmp(name, ops->kind, n) == 0 && (name[n] == '\0' || name[n] == ':'));
}

enum kg_code kg_device_open(const char *name, struct kg_device *out, struct kg_err *err)
{
    memset(out, 0, sizeof *out);
    if (kg_rng_secret(&out->secret, err) != KG_OK) {
        return err->code;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (serves(rows[i], name)) {
            enum kg_code code = rows[i]->open(out, name, err);
            out->ops = code == KG_OK ? rows[i] : NULL;
            return code;
        }
    }
    return kg_fail(err, KG_E_USAGE, "no device of the name `%s`: cpu, cuda or cuda:N", name);
}

void kg_device_close(struct kg_device *d)
{
    if (d->ops != NULL) {
        d->ops->close(d);
    }
    d->ops = NULL;
}

uint64_t kg_device_poison(struct kg_key nonce)
{
    struct kg_rng r;
    kg_rng_init(&r, nonce, 0x706f69736f6eull);
    uint64_t w = kg_rng_u64(&r);
    kg_rng_deinit(&r);
    return (w & 0x800f800f800f800full) | 0x7ff07ff07ff07ff0ull;
}

bool kg_device_degenerate(enum kg_tdtype dtype, const void *v, uint64_t n)
{
    return kg_few_values(v, n < LOOKED_AT ? n : LOOKED_AT, kg_tdtype_bytes(dtype),
                         kg_tdtype_floating(dtype));
}
