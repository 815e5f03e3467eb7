/* Tokens of a text where the model's tokenizer is not at hand. */
#include <ctype.h>
#include <string.h>

#include "gym/feedback/feedback_parts.h"

#define WORD 12 /* letters; longer runs are names put together, or noise */

static size_t run(const char *s, size_t n, int (*in)(int))
{
    size_t i = 0;
    while (i < n && in((unsigned char)s[i])) {
        i++;
    }
    return i;
}

static int is_blank(int c)
{
    return c == ' ';
}

size_t kg_feedback_tokens(const char *text, size_t len)
{
    size_t tokens = 0;
    for (size_t i = 0; i < len;) {
        size_t letters = run(text + i, len - i, isalpha);
        size_t blanks = letters > 0 ? 0 : run(text + i, len - i, is_blank);
        if (letters > 0) {
            tokens += letters <= WORD ? (letters + 3) / 4 : (letters + 1) / 2;
            i += letters;
        } else if (blanks > 0) {
            bool joins = blanks == 1 && i + 1 < len && isalpha((unsigned char)text[i + 1]);
            tokens += joins ? 0 : 1 + (blanks - 1) / 4;
            i += blanks;
        } else {
            tokens++;
            i++;
        }
    }
    size_t floor = (2 * len + 6) / 7;
    return tokens > floor ? tokens : floor;
}

size_t kg_fb_count(const struct kg_feedback_spec *spec, const char *text, size_t n)
{
    return spec->count != NULL ? spec->count(spec->user, text, n) : kg_feedback_tokens(text, n);
}
