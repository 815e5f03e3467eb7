/* Candidates made from a problem itself, as C source, for onboarding: the reference, trivial
 * answers, and the reference with one input frozen to its first element. Pure. */
#ifndef KG_GYM_NATIVE_NATIVE_PANEL_H
#define KG_GYM_NATIVE_NATIVE_PANEL_H

#include "base/buf.h"
#include "gym/problem/problem.h"

enum kg_trivial { KG_TRIVIAL_ZEROS, KG_TRIVIAL_ONES, KG_TRIVIAL_FIRST_INPUT, KG_TRIVIAL_COUNT };
const char *kg_trivial_name(enum kg_trivial t); /* "zeros", "ones", "first input" */

void kg_probe_reference(const struct kg_problem *p, struct kg_buf *out);
void kg_probe_trivial(const struct kg_problem *p, enum kg_trivial t, struct kg_buf *out);
void kg_probe_frozen(const struct kg_problem *p, int arg, struct kg_buf *out);

#endif
