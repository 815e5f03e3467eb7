/* The styles that replies are written in, as numbers, for tables of before and after. */
#ifndef KG_RL_CHAINS_STYLES_H
#define KG_RL_CHAINS_STYLES_H

#include "rl/chains/chains.h"

/* 0: nothing that looks like code; 1..RL_STYLE_KEYS-3: a plain style; the last two: code that is no
 * plain style, with calls of kgops and without. */
enum { RL_STYLE_KEYS = 63, RL_STYLE_NONE = 0, RL_STYLE_LIBRARY = 61, RL_STYLE_OWN = 62 };

int rl_style_key(const struct rl_chain *c, const char *text, size_t len);
/* "own-fused poly lanes", "other with library", "no code"... */
void rl_style_key_name(int key, char out[48]);

#endif
