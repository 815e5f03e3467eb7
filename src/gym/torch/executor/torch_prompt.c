/* The first message for a PyTorch problem. Nothing of the problem is run. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gym/device/gpu_facts.h"
#include "gym/torch/executor/torch_prompt.h"
#include "gym/torch/torch.h"

/* Of "cuda:1" the number; of "auto" 0, which is described where there is one; -1: no GPU. */
static long gpu_of(const char *device)
{
    char *end;
    if (device && strcmp(device, "auto") == 0) {
        return 0;
    }
    if (!device || strncmp(device, "cuda:", 5) != 0) {
        return -1;
    }
    long number = strtol(device + 5, &end, 10);
    return end != device + 5 && *end == 0 ? number : -1;
}

/* The driver's library takes tens of milliseconds to start, and a GPU stays what it is: it is asked
 * once, as long as the same one is meant. */
static bool describe(long gpu, struct kg_buf *out)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static long known = -1;
    static char words[400];
    pthread_mutex_lock(&lock);
    if (known != gpu && kg_gpu_describe((unsigned)gpu, out)) {
        snprintf(words, sizeof words, "%s", out->data);
        known = gpu;
    } else if (known == gpu) {
        kg_buf_adds(out, words);
    }
    bool found = known == gpu;
    pthread_mutex_unlock(&lock);
    return found;
}

static enum kg_code load(const char *path, struct kg_tproblem **out, struct kg_err *err)
{
    enum kg_code code = kg_tproblem_load(path, out, err);
    if (code == KG_E_INPUT || code == KG_E_LIMIT) {
        err->code = code = KG_E_PROBLEM;
        err->blame = KG_BLAME_PROBLEM;
    }
    if (code == KG_OK && (*out)->level == KG_TLEVEL_WEIGHTS) {
        kg_tproblem_destroy(*out);
        code = kg_fail(err, KG_E_PROBLEM,
                       "%s: problems of level 4 need weights from elsewhere; they are listed, not "
                       "judged",
                       path);
    }
    return code;
}

enum kg_code kg_torch_prompt(const char *path, const struct kg_prompt_spec *spec,
                             struct kg_prompt_about *about, struct kg_buf *out, struct kg_err *err)
{
    struct kg_tproblem *p;
    struct kg_buf hardware;
    if (load(path, &p, err) != KG_OK) {
        return err->code;
    }
    kg_buf_init(&hardware, 4096);
    long gpu = spec->hardware ? -1 : gpu_of(spec->device);
    bool known = gpu >= 0 && describe(gpu, &hardware);
    struct kg_prompt_task task = {.lang = KG_LANG_PYTHON,
                                  .name = p->name,
                                  .entry = p->entry,
                                  .model = p->reference,
                                  .desc = p->desc,
                                  .source = p->source,
                                  .source_len = p->source_len,
                                  .hardware = known ? hardware.data : NULL};
    enum kg_code code = kg_prompt_render(&task, spec, out, err);
    kg_prompt_about_set(about, KG_LANG_PYTHON, p->name, p->sha256);
    kg_buf_deinit(&hardware);
    kg_tproblem_destroy(p);
    return code;
}
