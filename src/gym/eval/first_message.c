/* From a name to the executor that knows the problem. */
#include "gym/eval/first_message.h"

#include "gym/eval/executor.h"

enum kg_code kg_prompt_for_named(const struct kg_paths *paths, const char *problem,
                                 const struct kg_prompt_spec *spec, struct kg_prompt_about *about,
                                 struct kg_buf *out, struct kg_err *err)
{
    const struct kg_executor *x;
    char path[1024];
    if (kg_executor_find(paths, problem, &x, path, sizeof path, err) != KG_OK) {
        return err->code;
    }
    return x->prompt(path, spec, about, out, err);
}

enum kg_code kg_prompt_for(const struct kg_paths *paths, const char *problem,
                           const struct kg_prompt_spec *spec, struct kg_buf *out,
                           struct kg_err *err)
{
    return kg_prompt_for_named(paths, problem, spec, NULL, out, err);
}

/* Where KernelBench's procedure judges, PyTorch's own defaults of precision hold, and modules have
 * the parameters that their constructors draw. */
void kg_prompt_spec_of(const struct kg_config *config, struct kg_prompt_spec *spec)
{
    spec->device = config->device;
    spec->unloaded = config->protocol == KG_PROTOCOL_KERNELBENCH;
    spec->league = spec->unloaded ? "" : config->precision;
}
