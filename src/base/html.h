/* Writing HTML: the only way by which text that is not kgym's own gets into a page.
 * Escapes the five characters that mean something in text and in quoted attributes;
 * control characters, direction overrides and broken UTF-8 become U+FFFD. Thread safe. */
#ifndef KG_BASE_HTML_H
#define KG_BASE_HTML_H

#include "base/json.h"

void kg_html_text(struct kg_buf *out, const char *s); /* NULL: nothing */
void kg_html_bytes(struct kg_buf *out, const char *s, size_t n);
/* At most max bytes of s, whole characters, and how much was left out. */
void kg_html_cut(struct kg_buf *out, const char *s, size_t max);
/* A JSON value as a person reads it, escaped; at most about max bytes. */
void kg_html_value(struct kg_buf *out, const json_t *v, size_t max);
/* Base 64 of the SHA-256 of s: for a policy's script hash. */
void kg_html_sha256(struct kg_buf *out, const char *s);

#endif
