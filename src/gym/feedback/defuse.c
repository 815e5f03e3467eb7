/* Markers by which chat templates open and close turns. A tokenizer that is asked not to parse
 * them in text would be enough; one that is not asked must not be fooled either. */
#include <string.h>

#include "gym/feedback/feedback_parts.h"

/* Enough of each marker to know it, and the bytes of its first character. A blank is put after
 * that one. Source: the templates of the ChatML, Llama, Mistral, Gemma, Qwen and DeepSeek models.
 */
static const struct {
    const char *text;
    size_t first;
} markers[] = {
    {"<|", 1},
    {"|>", 1},
    {"<\xEF\xBD\x9C", 1},
    {"\xEF\xBD\x9C>", 3},
    {"<s>", 1},
    {"</s>", 1},
    {"<bos>", 1},
    {"<eos>", 1},
    {"<pad>", 1},
    {"<unk>", 1},
    {"[INST]", 1},
    {"[/INST]", 1},
    {"<<SYS>>", 1},
    {"<</SYS>>", 1},
    {"<think>", 1},
    {"</think>", 1},
    {"<tool_call>", 1},
    {"</tool_call>", 1},
    {"<start_of_turn>", 1},
    {"<end_of_turn>", 1},
    {"<tool_response>", 1},
    {"</tool_response>", 1},
};

static size_t marker_at(const char *s, size_t n)
{
    for (size_t i = 0; i < sizeof markers / sizeof markers[0]; i++) {
        size_t len = strlen(markers[i].text);
        if (n >= len && memcmp(s, markers[i].text, len) == 0) {
            return markers[i].first;
        }
    }
    return 0;
}

void kg_fb_defuse(const char *s, size_t n, struct kg_buf *out)
{
    for (size_t i = 0; i < n;) {
        bool may = s[i] == '<' || s[i] == '|' || s[i] == '[' || s[i] == '\xEF';
        size_t first = may ? marker_at(s + i, n - i) : 0;
        size_t len = first > 0 ? first : 1;
        kg_buf_add(out, s + i, len);
        kg_buf_adds(out, first > 0 ? " " : "");
        i += len;
    }
}
