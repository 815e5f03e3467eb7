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

/* By enum kg_prompt_language. */
static const struct {
    enum kg_lang lang;
    const char *reference, *answer;
} shown[] = {
    [KG_PROMPT_TRITON] = {KG_LANG_PYTHON, kg_demonstration_python, kg_demonstration_triton},
    [KG_PROMPT_CUDA] = {KG_LANG_PYTHON, kg_demonstration_python, kg_demonstration_cuda},
    [KG_PROMPT_PYTORCH] = {KG_LANG_PYTHON, kg_demonstration_python, kg_demonstration_pytorch},
    [KG_PROMPT_C] = {KG_LANG_C, kg_demonstration_c, kg_demonstration_c_fast},
};

struct kg_demonstration kg_demonstration_of(enum kg_prompt_language l)
{
    struct kg_demonstration d = {.lang = shown[l].lang,
                                 .reference = shown[l].reference,
                                 .answer = shown[l].answer,
                                 .answer_len = strlen(shown[l].answer)};
    kg_sha256_hex(d.answer, d.answer_len, d.sha256);
    return d;
}

void kg_demonstration_mark(struct kg_extract *x, enum kg_lang lang)
{
    for (int l = KG_PROMPT_TRITON; l < KG_PROMPT_LANGUAGES; l++) {
        if (shown[l].lang == lang) {
            kg_extract_mark_demo(x, lang, shown[l].answer, strlen(shown[l].answer));
        }
    }
}
