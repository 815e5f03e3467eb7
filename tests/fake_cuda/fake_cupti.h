/* What tests may ask of the fake CUPTI; see fake_cupti.c. */
#ifndef KG_TESTS_FAKE_CUPTI_H
#define KG_TESTS_FAKE_CUPTI_H

#include <stdbool.h>

#include "probe/cupti_api.h"

/* A launch of this callback id. The subscriber may change params; what is there then "runs", for
 * `ns` from now, and has a record unless node is set: then it went into a graph under that id.
 * lost: it has no record. */
void kg_fake_cupti_launch(uint32_t id, const char *symbol, void *params, uint64_t ns, uint64_t node,
                          bool lost);
/* The caller has loaded a module of so many bytes. */
void kg_fake_cupti_module(size_t bytes);
void kg_fake_cupti_clone(uint64_t from, uint64_t to);
/* A launch of a graph: records of its nodes, ns each. */
void kg_fake_cupti_graph(const uint64_t *nodes, int n, uint64_t ns);
/* A record of a copy or fill. */
void kg_fake_cupti_copy(uint32_t kind, uint64_t ns);
/* The clock moves on; back: the next record begins so much earlier, beside the last one. */
void kg_fake_cupti_wait(uint64_t ns);
void kg_fake_cupti_back(uint64_t ns);
void kg_fake_cupti_drop(size_t records);

#define KG_FAKE_DECLARE(field, symbol, params) int symbol params;
KG_CUPTI_FUNCTIONS(KG_FAKE_DECLARE)
#undef KG_FAKE_DECLARE

#endif
