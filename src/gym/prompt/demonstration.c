/* The texts of problems/demonstrations as they stand in the tree, each with a NUL behind it; built
 * from the tree's root. */
#include "gym/prompt/demonstration.h"

#include <string.h>

#define TEXT(symbol, file)                                                                         \
    extern const char symbol[]; /* NOLINT: a name takes no parentheses */                          \
    __asm__(".pushsection .rodata\n"                                                               \
            ".type " #symbol ", @object\n"                                                         \
            ".hidden " #symbol "\n"                                                                \
            ".global " #symbol "\n" #symbol ":\n"                                                  \
            ".incbin \"problems/demonstrations/" file "\"\n"                                       \
            ".byte 0\n"                                                                            \
            ".size " #symbol ", . - " #symbol "\n"                                                 \
            ".popsection\n")

TEXT(kg_demonstration_c, "product_bias.c");
TEXT(kg_demonstration_c_fast, "product_bias.fast.c");
TEXT(kg_demonstration_python, "product_bias.py");
TEXT(kg_demonstration_triton, "product_bias.triton.py");
TEXT(kg_demonstration_cuda, "product_bias.cuda.py");
TEXT(kg_demonstration_pytorch, "product_bias.pytorch.py");

static const char *const names[KG_PROMPT_C] = {"triton", "cuda", "pytorch"};

bool kg_prompt_language_parse(const char *name, enum kg_prompt_language *out)
{
    for (int l = KG_PROMPT_TRITON; l < KG_PROMPT_C; l++) {
        if (strcmp(name, names[l]) == 0) {
            *out = (enum kg_prompt_language)l;
            return true;
        }
    }
    return false;
}

static const char *answer_of(enum kg_prompt_language l)
{
    switch (l) {
    case KG_PROMPT_C:
        return kg_demonstration_c_fast;
    case KG_PROMPT_CUDA:
        return kg_demonstration_cuda;
    case KG_PROMPT_PYTORCH:
        return kg_demonstration_pytorch;
    default:
        return kg_demonstration_triton;
    }
}

struct kg_demonstration kg_demonstration_of(enum kg_prompt_language l)
{
    bool c = l == KG_PROMPT_C;
    const char *answer = answer_of(l);
    struct kg_demonstration d = {.lang = c ? KG_LANG_C : KG_LANG_PYTHON,
                                 .reference = c ? kg_demonstration_c : kg_demonstration_python,
                                 .answer = answer,
                                 .answer_len = strlen(answer)};
    kg_sha256_hex(d.answer, d.answer_len, d.sha256);
    return d;
}

void kg_demonstration_mark(struct kg_extract *x, enum kg_lang lang)
{
    for (int l = KG_PROMPT_TRITON; l < KG_PROMPT_LANGUAGES; l++) {
        if ((l == KG_PROMPT_C) == (lang == KG_LANG_C)) {
            const char *answer = answer_of((enum kg_prompt_language)l);
            kg_extract_mark_demo(x, lang, answer, strlen(answer));
        }
    }
}
