/* What a candidate must be: the sections that differ between C and PyTorch. */
#include <string.h>

#include "gym/feedback/harmless.h"
#include "gym/prompt/prompt_parts.h"

static void described(const struct kg_prompt_page *p)
{
    struct kg_buf line;
    if (!p->task->desc || !*p->task->desc) {
        return;
    }
    kg_buf_init(&line, 4096);
    kg_fb_inline(p->task->desc, 800, &line);
    kg_prompt_say(p, "\nWhat it computes: %s\n", line.data);
    kg_buf_deinit(&line);
}

static void goal_c(const struct kg_prompt_page *p)
{
    kg_prompt_say(p,
                  "You write fast C for CPUs. Write the function `%s`: it computes the same as "
                  "the reference below, and runs faster. The reference calls one library "
                  "operator after the other and keeps each result in memory. You choose what "
                  "to replace, what to fuse, and which algorithm to use.\n",
                  p->task->entry);
}

static void goal_python(const struct kg_prompt_page *p)
{
    static const char *const how[] = {
        [KG_PROMPT_TRITON] = "by kernels of your own, written in Triton",
        [KG_PROMPT_CUDA] = "by kernels of your own, written in CUDA C++",
        [KG_PROMPT_PYTORCH] = "by faster code: kernels of your own, or better use of PyTorch",
    };
    const struct kg_prompt_task *t = p->task;
    kg_prompt_say(p,
                  "You write fast kernels for PyTorch. Write the module `%s`: it computes the "
                  "same as `%s` below, and runs faster. Replace operators of `%s` %s. You "
                  "choose what to replace, what to fuse, and which algorithm to use.\n",
                  t->entry, t->model, t->model, how[p->language]);
}

void kg_prompt_goal(const struct kg_prompt_page *p)
{
    p->kind->goal(p);
    described(p);
}

static void contract_c(const struct kg_prompt_page *p)
{
    const struct kg_prompt_task *t = p->task;
    kg_prompt_say(p, "Define this function, with external linkage:\n\n");
    kg_prompt_listing(p, t->signature, strlen(t->signature));
    kg_prompt_say(p, "\n");
    kg_prompt_text(p, t->arguments);
    kg_prompt_say(
        p, "\n"
           "- Arrays are dense and row-major. They do not overlap. They are aligned to their "
           "element, to no more.\n"
           "- Write every element of every output, and never write to an input.\n"
           "- The function must be right for every size from 1 on, not only for the sizes above: "
           "odd sizes, and sizes that no vector width divides.\n"
           "- Inputs differ from call to call. Keep no result for a later call, and finish all "
           "work before you return.\n"
           "- Send one C file (gnu17) that includes what it uses. The headers of the C library, "
           "those of the compiler (such as immintrin.h) and \"kgops.h\" are there. The file is "
           "linked with the C library, libm, libpthread and the operators of kgops.h.\n");
}

static const char loaded[] =
    "- Create parameters and buffers of the same shapes in the same order, and best under the same "
    "names: before the calls, the same values are loaded into both modules. A module that keeps "
    "them in another form defines `load_reference_state(self, state)`, which gets the reference's "
    "state as a dict. `prepare(self)`, where it is defined, is called after that: pack weights "
    "there.\n";
static const char unloaded[] =
    "- Create parameters and buffers as the reference does: both modules are constructed under the "
    "same seed, and nothing is loaded into them. So draw the same random values in the same "
    "order.\n";

static void contract_python(const struct kg_prompt_page *p)
{
    const struct kg_prompt_task *t = p->task;
    kg_prompt_say(
        p,
        "- Define `class %s(nn.Module)` in one Python file that imports what it uses.\n"
        "- Its constructor and its `forward` take the arguments of the reference's.\n"
        "%s"
        "- Outputs have the reference's nesting, shapes, dtypes and device. None shares memory "
        "with an input unless the reference's does.\n"
        "- Never write to an input.\n"
        "- Inputs%s differ from call to call. Keep no result for a later call.\n",
        t->entry, p->spec->unloaded ? unloaded : loaded,
        p->spec->unloaded ? "" : " and parameters");
    if (p->language == KG_PROMPT_TRITON) {
        kg_prompt_say(p, "- Mark kernels with `@triton.jit` and launch them from `forward`.");
    } else if (p->language == KG_PROMPT_CUDA) {
        kg_prompt_say(p, "- Build kernels with `torch.utils.cpp_extension.load_inline`, and launch "
                         "them on `at::cuda::getCurrentCUDAStream()`.");
    } else {
        kg_prompt_say(p, "- Any code that PyTorch can call is allowed: its own operators, Triton, "
                         "CUDA C++ through `torch.utils.cpp_extension.load_inline`.");
    }
    kg_prompt_say(p, " Kernels that `torch.compile` writes do not count.\n");
}

void kg_prompt_contract(const struct kg_prompt_page *p)
{
    kg_prompt_heading(p, "Contract");
    p->kind->contract(p);
}

static void types_c(const struct kg_prompt_page *p)
{
    kg_prompt_say(p, "- Types are those of the signature. Compute in float or better: half "
                     "precision and bfloat16 are too coarse.\n");
}

static void types_python(const struct kg_prompt_page *p)
{
    const char *league = p->spec->league ? p->spec->league : "fp32";
    kg_prompt_say(p, "- Shapes and dtypes of the inputs are those that `get_inputs()` gives.\n");
    if (strcmp(league, "tf32") == 0) {
        kg_prompt_say(p, "- Matrix products of float32 may read their operands as TF32. All else "
                         "is computed in float32: half precision and bfloat16 are too coarse.\n");
    } else if (strcmp(league, "fp32") == 0) {
        kg_prompt_say(
            p,
            "- What is float32 is computed in float32: TF32, half precision and "
            "bfloat16 are too coarse.%s\n",
            p->language == KG_PROMPT_TRITON ? " A `tl.dot` needs `input_precision=\"ieee\"`." : "");
    }
}

const struct kg_prompt_kind *kg_prompt_kind_of(enum kg_lang lang)
{
    static const struct kg_prompt_kind kinds[] = {
        [KG_LANG_C] = {.goal = goal_c,
                       .contract = contract_c,
                       .types = types_c,
                       .reference = "The type `real` stands for `float`; your code does not have "
                                    "it.\n\n",
                       .language = KG_PROMPT_C},
        [KG_LANG_PYTHON] = {.goal = goal_python,
                            .contract = contract_python,
                            .types = types_python,
                            .reference = "",
                            .language_chosen = true},
    };
    return &kinds[lang];
}
