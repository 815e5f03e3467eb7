/* Fences around listings, which the listing's own backticks cannot close. */
#include "gym/feedback/harmless.h"

static size_t longest_run(const char *s, size_t n)
{
    size_t run = 0, longest = 0;
    for (size_t i = 0; i < n; i++) {
        run = s[i] == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

static void line(size_t ticks, const char *tag, struct kg_buf *out)
{
    for (size_t i = 0; i < ticks; i++) {
        kg_buf_addc(out, '`');
    }
    kg_buf_addf(out, "%s\n", tag);
}

void kg_fb_fence(const char *lines, size_t n, const char *tag, struct kg_buf *out)
{
    size_t run = longest_run(lines, n), ticks = run < 3 ? 3 : run + 1;
    line(ticks, tag, out);
    kg_buf_add(out, lines, n);
    line(ticks, "", out);
}
