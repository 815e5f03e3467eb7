/* The demonstrations that first messages show: the same small reference, in C and as a PyTorch
 * module, and one good answer for each language. They come from problems/demonstrations and belong
 * to no suite. Their text is part of the program. Tests judge each of them (test_prompt.c). */
#ifndef KG_GYM_PROMPT_DEMONSTRATION_H
#define KG_GYM_PROMPT_DEMONSTRATION_H

#include "base/hash.h"
#include "gym/reply/extract.h"

/* Of an answer. The first is the default for PyTorch problems; a C problem's is always C. */
enum kg_prompt_language {
    KG_PROMPT_TRITON,
    KG_PROMPT_CUDA,
    KG_PROMPT_PYTORCH, /* whatever PyTorch can call */
    KG_PROMPT_C,
    KG_PROMPT_LANGUAGES
};
/* Of "triton", "cuda", "pytorch"; C is not a choice: false. */
bool kg_prompt_language_parse(const char *name, enum kg_prompt_language *out);

struct kg_demonstration {
    enum kg_lang lang;     /* of both texts */
    const char *reference; /* NUL-terminated, static */
    const char *answer;
    size_t answer_len;
    char sha256[KG_SHA256_HEX]; /* of the answer: a record's candidate.sha256 of a copy */
};
struct kg_demonstration kg_demonstration_of(enum kg_prompt_language l);

/* Sets KG_XF_DEMO where the code that was found is, token by token, one of the answers that
 * messages show. It is judged as any other. Cost: up to the first token that differs. */
void kg_demonstration_mark(struct kg_extract *x, enum kg_lang lang);

#endif
