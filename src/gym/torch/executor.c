/* The PyTorch executor's table. */
#include "gym/pipeline/executor.h"

#include "gym/torch/suite.h"

static enum kg_code problem(struct kg_worker *w, const char *path, struct kg_err *err)
{
    struct kg_tproblem *p;
    (void)w;
    if (kg_tproblem_load(path, &p, err) != KG_OK) {
        return err->code;
    }
    kg_tproblem_destroy(p);
    return kg_fail(err, KG_E_HOST, "%s: PyTorch problems can be listed, not judged yet", path);
}

static enum kg_code read_source(const char *path, struct kg_buf *out, struct kg_err *err)
{
    struct kg_tproblem *p;
    if (kg_tproblem_load(path, &p, err) != KG_OK) {
        return err->code;
    }
    kg_buf_add(out, p->source, p->source_len);
    kg_tproblem_destroy(p);
    return KG_OK;
}

static void stop(struct kg_evaluation *e)
{
    (void)e;
}

static void forget(struct kg_worker *w, bool everything)
{
    (void)w;
    (void)everything;
}

static enum kg_code onboard(struct kg_worker *w, const char *path, struct kg_onboard *out,
                            struct kg_err *err)
{
    (void)out;
    return problem(w, path, err);
}

const struct kg_executor kg_executor_torch = {
    .language = "python",
    .lang = KG_LANG_PYTHON,
    .problem = problem,
    .read = read_source,
    .stop = stop,
    .forget = forget,
    .onboard = onboard,
};
