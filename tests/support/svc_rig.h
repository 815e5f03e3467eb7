/* Tests of the service: `kgym serve` in a folder of its own, and an HTTP client that says exactly
 * what it is told to. Every wait ends by a failed test after a minute or more, never by a guess. */
#ifndef KG_TESTS_SUPPORT_SVC_RIG_H
#define KG_TESTS_SUPPORT_SVC_RIG_H

#include <jansson.h>
#include <sys/types.h>

#include "base/buf.h"

extern const char *svc_headers; /* whole lines that svc_json sends; svc_setup: "" */
extern int svc_port;            /* of the service that runs */
extern pid_t svc_pid;           /* of its parent; 0: none runs */
int svc_setup(void **state);    /* a new folder */
int svc_teardown(void **state); /* ends what runs, and removes the folder */
const char *svc_folder(void);
/* Starts it with these options, split at blanks, on the port that it had before. */
void svc_start(const char *options);
/* Sends the signal to the parent and waits for its end; returns the exit status, -1: killed. */
int svc_end(int sig);
/* The process that the parent runs in this role: "serve-api" or "serve-worker". */
pid_t svc_child(const char *role);

/* One request on a connection of its own. The answer is held to openapi.json. headers: whole lines,
 * or "". The body of the answer is in *out (may be NULL), which is reset. Returns the status; 0:
 * the connection ended without one. */
int svc_request(const char *method, const char *path, const char *headers, const char *body,
                size_t len, struct kg_buf *out);
/* The same with JSON both ways; expects the status. body: text. The caller frees the answer. */
json_t *svc_json(int status, const char *method, const char *path, const char *body);
/* A GET whose answer is read piece by piece: returns the connection. svc_read_until adds to *out
 * until it holds the word, and fails if the connection ends before. */
int svc_open(const char *path, const char *headers);
void svc_read_until(int connection, const char *word, struct kg_buf *out);
/* Sends bytes as they are, and returns the status of what comes. */
int svc_raw(const char *bytes, size_t n);
/* A member of a JSON object, "" if it is no string. */
const char *svc_text(const json_t *j, const char *name);
/* Asks until the job is in this state. */
void svc_await(const char *id, const char *state);

/* Runs kgym with these arguments; its output, both streams, is in text [4096]. Returns its exit
 * status, -1: killed. */
int svc_kgym(char text[4096], const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
