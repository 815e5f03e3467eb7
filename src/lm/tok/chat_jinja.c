/* A template of Jinja for each kind, for folders that are written here. It renders what chat.c
 * does, without tools. transformers reads it with trim_blocks and lstrip_blocks. */
#include "lm/tok/chat.h"

#define BEGIN_SYSTEM(text)                                                                         \
    "{%- if messages[0].role != 'system' %}\n"                                                     \
    "    {{- '<|im_start|>system\\n" text "<|im_end|>\\n' }}\n"                                    \
    "{%- endif %}\n"
#define ALL_PLAIN                                                                                  \
    "{%- for message in messages %}\n"                                                             \
    "    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}\n"  \
    "{%- endfor %}\n"
#define PROMPT_BEGIN                                                                               \
    "{%- if add_generation_prompt %}\n"                                                            \
    "    {{- '<|im_start|>assistant\\n' }}\n"
#define PROMPT_END "{%- endif %}\n"
/* The last question that is no answer of a tool: replies after it keep their thought. */
#define FIND_QUESTION                                                                              \
    "{%- set ns = namespace(found=false, question=messages|length - 1) %}\n"                       \
    "{%- for message in messages[::-1] %}\n"                                                       \
    "    {%- if not ns.found and message.role == 'user' and not "                                  \
    "(message.content.startswith('<tool_response>') and "                                          \
    "message.content.endswith('</tool_response>')) %}\n"                                           \
    "        {%- set ns.found = true %}\n"                                                         \
    "        {%- set ns.question = messages|length - 1 - loop.index0 %}\n"                         \
    "    {%- endif %}\n"                                                                           \
    "{%- endfor %}\n"
#define SPLIT_THOUGHT                                                                              \
    "        {%- set content = message.content %}\n"                                               \
    "        {%- set thought = '' %}\n"                                                            \
    "        {%- if message.reasoning_content is string %}\n"                                      \
    "            {%- set thought = message.reasoning_content %}\n"                                 \
    "        {%- elif '</think>' in content %}\n"                                                  \
    "            {%- set thought = content.split('</think>')[0].rstrip('\\n')"                     \
    ".split('<think>')[-1].lstrip('\\n') %}\n"                                                     \
    "            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}\n"               \
    "        {%- endif %}\n"
#define ALL_THINKING                                                                               \
    FIND_QUESTION "{%- for message in messages %}\n"                                               \
                  "    {%- if message.role == 'assistant' %}\n" SPLIT_THOUGHT                      \
                  "        {{- '<|im_start|>assistant\\n' }}\n"                                    \
                  "        {%- if loop.index0 > ns.question and (loop.last or thought) %}\n"       \
                  "            {{- '<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + "   \
                  "content.lstrip('\\n') }}\n"                                                     \
                  "        {%- else %}\n"                                                          \
                  "            {{- content }}\n"                                                   \
                  "        {%- endif %}\n"                                                         \
                  "        {{- '<|im_end|>\\n' }}\n"                                               \
                  "    {%- else %}\n"                                                              \
                  "        {{- '<|im_start|>' + message.role + '\\n' + message.content + "         \
                  "'<|im_end|>\\n' }}\n"                                                           \
                  "    {%- endif %}\n"                                                             \
                  "{%- endfor %}\n"

static const char *const texts[LM_CHAT_KINDS] = {
    [LM_CHAT_QWEN25] = BEGIN_SYSTEM("You are Qwen, created by Alibaba Cloud. You are a helpful "
                                    "assistant.") ALL_PLAIN PROMPT_BEGIN PROMPT_END,
    [LM_CHAT_QWEN25_BASE] =
        BEGIN_SYSTEM("You are a helpful assistant.") ALL_PLAIN PROMPT_BEGIN PROMPT_END,
    [LM_CHAT_QWEN3] = ALL_THINKING PROMPT_BEGIN
    "    {%- if enable_thinking is defined and enable_thinking is false %}\n"
    "        {{- '<think>\\n\\n</think>\\n\\n' }}\n"
    "    {%- endif %}\n" PROMPT_END,
    [LM_CHAT_QWEN3_INSTRUCT] = ALL_PLAIN PROMPT_BEGIN PROMPT_END,
    [LM_CHAT_QWEN3_THINKING] = ALL_THINKING PROMPT_BEGIN "    {{- '<think>\\n' }}\n" PROMPT_END,
};

const char *lm_chat_template(enum lm_chat_kind kind)
{
    return texts[kind];
}
