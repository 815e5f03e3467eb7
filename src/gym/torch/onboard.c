/* Onboarding of a PyTorch problem. */
#include <string.h>

#include "gym/torch/torch.h"

enum kg_code kg_tonboard(struct kg_worker *w, const char *path, struct kg_onboard *out,
                         struct kg_err *err)
{
    struct kg_buf src;
    if (kg_executor_torch.problem(w, path, err) != KG_OK) {
        return err->code;
    }
    kg_buf_init(&src, 1 << 20);
    kg_executor_torch.canary(w, &src);
    enum kg_code code = kg_onboard_judge(w, path, out, "reference", &src, true, err);
    kg_buf_deinit(&src);
    out->pass = code == KG_OK && out->check[0].pass;
    return code;
}
