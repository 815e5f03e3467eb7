/* Styles as numbers. */
#include "rl/chains/styles.h"

#include <stdio.h>
#include <string.h>

int rl_style_key(const struct rl_chain *c, const char *text, size_t len)
{
    struct rl_style s;
    if (rl_style_find(c, text, len, &s)) {
        return 1 + (int)s.form * 12 + (int)s.exp * 4 + s.lanes * 2 + s.order;
    }
    if (memmem(text, len, "kgops_", 6) != NULL) {
        return RL_STYLE_LIBRARY;
    }
    return memchr(text, '{', len) != NULL ? RL_STYLE_OWN : RL_STYLE_NONE;
}

void rl_style_key_name(int key, char out[48])
{
    if (key == RL_STYLE_NONE || key >= RL_STYLE_LIBRARY) {
        snprintf(out, 48, "%s",
                 key == RL_STYLE_NONE      ? "no code"
                 : key == RL_STYLE_LIBRARY ? "other with library"
                                           : "other own");
        return;
    }
    int k = key - 1;
    const struct rl_style s = {.form = (enum rl_form)(k / 12),
                               .exp = (enum rl_exp)(k / 4 % 3),
                               .lanes = k / 2 % 2,
                               .order = k % 2};
    rl_style_name(s, out);
}
