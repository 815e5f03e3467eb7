/* `metadata` of a KernelGYM result: names and types of that protocol, and what kgym adds
 * (docs/trainers.md). A model reads it, so it holds no seed, no input and no answer. At most 32 KiB
 * as JSON.
 * Private to kernelgym_*.c. */
#ifndef KG_SVC_KERNELGYM_METADATA_H
#define KG_SVC_KERNELGYM_METADATA_H

#include "svc/kernelgym_reply.h"

enum { KG_KERNELGYM_TEXT_MOST = 8192 }; /* bytes of a text, its middle left out beyond that */

/* A new object. fault NULL: nobody's. */
json_t *kg_kernelgym_metadata(const json_t *record, const struct kg_kernelgym_task *t,
                              const char *fault);
/* Adds times, phases and coverage. */
void kg_kernelgym_put_numbers(json_t *m, const json_t *record, const struct kg_kernelgym_task *t);
/* The first entry of this check; NULL: none. */
const json_t *kg_kernelgym_evidence(const json_t *record, const char *check);
/* A profile was taken, and none of the device's time in it is in kernels of the candidate's own.
 * That there is no profile proves nothing, and neither do claims that contradict the judge's clock:
 * their coverage is 0, without shares. */
bool kg_kernelgym_unowned(const json_t *record);
/* What is wrong with an answer, as far as a model may know: the reason, and the share of elements;
 * of a wrong shape, type or structure the record's line. */
json_t *kg_kernelgym_mistake(const json_t *record);
/* A text for the wire: harmless characters, no folders of the host, at most so many bytes, head and
 * tail. */
json_t *kg_kernelgym_text(const char *s, size_t most);

#endif
