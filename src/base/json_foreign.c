/* An integer of more than 64 bits gets an exponent before jansson reads it, which makes it a real.
 */
#include "base/json_foreign.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Whether a number of n characters is an integer of more than 64 bits. */
static bool too_big(const char *number, size_t n)
{
    char text[24] = "";
    size_t sign = number[0] == '-';
    for (size_t i = sign; i < n; i++) {
        if (!isdigit((unsigned char)number[i])) {
            return false;
        }
    }
    if (n - sign != 19) {
        return n - sign > 19;
    }
    memcpy(text, number, n);
    errno = 0;
    (void)!strtoll(text, NULL, 10);
    return errno == ERANGE;
}

static size_t number_len(const char *text, size_t len)
{
    size_t n = 1;
    while (n < len && (isdigit((unsigned char)text[n]) || text[n] == '.' || text[n] == '-' ||
                       text[n] == '+' || text[n] == 'e' || text[n] == 'E')) {
        n++;
    }
    return n;
}

/* Copies JSON text in which each integer of more than 64 bits has an exponent, so that it is a
 * real. Where there is none, *out stays empty. */
static void add_with_reals(const char *text, size_t len, struct kg_buf *out)
{
    bool in_string = false;
    size_t copied = 0;
    for (size_t i = 0; i < len; i++) {
        if (in_string && text[i] == '\\') {
            i++;
        } else if (text[i] == '"') {
            in_string = !in_string;
        } else if (!in_string && (text[i] == '-' || isdigit((unsigned char)text[i]))) {
            size_t n = number_len(text + i, len - i);
            if (too_big(text + i, n)) {
                kg_buf_add(out, text + copied, i + n - copied);
                kg_buf_adds(out, "e0");
                copied = i + n;
            }
            i += n - 1;
        }
    }
    if (copied > 0) {
        kg_buf_add(out, text + copied, len - copied);
    }
}

static enum kg_code parse(const char *text, size_t len, const char *source, bool one_line,
                          json_t **out, struct kg_err *err)
{
    return one_line ? kg_json_parse_line(text, len, source, out, err)
                    : kg_json_parse(text, len, source, out, err);
}

enum kg_code kg_json_parse_foreign(const char *text, size_t len, const char *source, bool one_line,
                                   json_t **out, struct kg_err *err)
{
    struct kg_buf reals;
    enum kg_code code;
    *out = NULL;
    kg_buf_init(&reals, len + len / 8 + 16); /* two bytes more for each 19 */
    add_with_reals(text, len, &reals);
    if (!kg_buf_ok(&reals)) {
        code = kg_fail(err, KG_E_HOST, "%s: no memory for %zu bytes of JSON", source, len);
    } else if (reals.len > 0) {
        code = parse(reals.data, reals.len, source, one_line, out, err);
    } else {
        code = parse(text, len, source, one_line, out, err);
    }
    kg_buf_deinit(&reals);
    return code;
}
