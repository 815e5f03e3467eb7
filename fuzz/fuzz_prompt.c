/* Bytes as a problem's text: whatever a reference and its description hold, the first message is
 * harmless, its fences close, and what follows them is there. */
#include "fuzz.h"

#include <string.h>

#include "gym/prompt/prompt.h"
#include "tests/support/feedback.h"

static void render(const char *text, size_t n, enum kg_lang lang, enum kg_feedback_style style)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf out;
    char desc[200];
    snprintf(desc, sizeof desc, "%.*s", (int)(n < 100 ? n : 100), text);
    struct kg_prompt_task task = {.lang = lang,
                                  .name = "p",
                                  .entry = "entry",
                                  .model = "Model",
                                  .desc = desc,
                                  .signature = "void entry(void);",
                                  .arguments = "- `x`: float\n",
                                  .source = text,
                                  .source_len = n,
                                  .hardware = desc};
    struct kg_prompt_spec spec = {.limit = KG_PROMPT_MAX_BYTES, .style = style};
    kg_buf_init(&out, KG_PROMPT_MAX_BYTES);
    KG_ASSERT(kg_prompt_render(&task, &spec, &out, &err) == KG_OK);
    KG_ASSERT(feedback_harmful(out.data, out.len) == NULL);
    KG_ASSERT(style != KG_FEEDBACK_MARKDOWN || feedback_unfenced(out.data) == NULL);
    KG_ASSERT(style != KG_FEEDBACK_PLAIN || memchr(text, '`', n) || !strchr(out.data, '`'));
    kg_buf_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    render(text, size, KG_LANG_C, KG_FEEDBACK_MARKDOWN);
    render(text, size, KG_LANG_PYTHON, KG_FEEDBACK_MARKDOWN);
    render(text, size, KG_LANG_PYTHON, KG_FEEDBACK_PLAIN);
    return 0;
}
