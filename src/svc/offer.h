/* What a device of a worker offers, and what a job needs: a job goes only to a device that offers
 * all of it. A need is one word, and a job's are a text of them in order of the alphabet, with
 * blanks between ("class": it is a part of its lane):
 *
 *   cpu, torch, cuda, model:H100   the device must offer the same word
 *   memory:40960                   it has so many MB at least
 *   isolation:2                    its sandbox reaches this level at least (docs/security.md)
 *
 * Pure functions; the Redis store's script has its own copy of kg_svc_offer_serves(). */
#ifndef KG_SVC_OFFER_H
#define KG_SVC_OFFER_H

#include "base/json.h"

enum {
    KG_SVC_WORD_MAX = 64,   /* bytes of a word, NUL included */
    KG_SVC_WORDS_MAX = 24,  /* of a device */
    KG_SVC_NEEDS_MAX = 8,   /* of a job */
    KG_SVC_DEVICE_MAX = 400 /* bytes of a job's needs as a text, NUL included */
};

struct kg_svc_offer {
    const char *const *words;
    size_t nwords;
    int64_t memory_mb; /* 0: unknown, which meets no need */
    int isolation;
};

/* Is this one word met? */
bool kg_svc_offer_meets(const struct kg_svc_offer *o, const char *word, size_t n);
/* Are all words of needs? */
bool kg_svc_offer_serves(const struct kg_svc_offer *o, const char *needs);
/* The next word of *at [returned length], which moves on; 0: none is left. */
size_t kg_svc_needs_next(const char **at, const char **word);

/* {"words": [...], "memory_mb"?, "isolation"?}; other members are left alone. *out points into j
 * and into words [KG_SVC_WORDS_MAX]. False: it is something else. */
bool kg_svc_offer_read(const json_t *j, const char *words[KG_SVC_WORDS_MAX],
                       struct kg_svc_offer *out);
/* class, and a client's list of further needs (NULL: none), as one text: sorted, none twice. False:
 * the list is no list of needs. */
bool kg_svc_needs_text(const char *class, const json_t *list, char out[KG_SVC_DEVICE_MAX]);

#endif
