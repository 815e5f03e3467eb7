/* Is what comes on a connection HTTP/1.1 that every reader reads alike? A proxy in front of the
 * service and evhttp behind this must agree where a request ends, or a request can hide another.
 * So this refuses what RFC 9112 lets readers take in different ways: two lengths, a length beside
 * chunks, other codings, bare CR or LF, folded lines, blanks before a colon, trailers, extensions
 * of chunks. It keeps counts and a word, never a body, and looks at each byte once. */
#ifndef KG_SVC_HTTP_GRAMMAR_H
#define KG_SVC_HTTP_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KG_SVC_HEAD_BYTES = 64 << 10, KG_SVC_WORD = 32 };

struct kg_svc_grammar_refusal {
    int status; /* 0: nothing was refused */
    const char *reason, *code, *message;
};

struct kg_svc_grammar {
    int64_t body_max;                      /* bytes of a body; set by the caller */
    struct kg_svc_grammar_refusal refusal; /* once it is set, nothing is read any more */
    int state;                             /* private, like the rest; 0: before a request */
    size_t head, nword; /* bytes of the head; of the word, of which some are kept */
    char word[KG_SVC_WORD];
    int header;         /* which of those that matter */
    int64_t left, body; /* bytes of the body, or of the chunk, to come; of all chunks so far */
    int lengths, codings, hosts;
    bool old, bodiless; /* HTTP/1.0; the method takes no body */
};

/* Reads the next bytes. False: g->refusal says why. */
bool kg_svc_grammar_read(struct kg_svc_grammar *g, const char *bytes, size_t n);

#endif
