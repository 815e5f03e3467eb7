/* Drives a service over HTTP: `kgym serve` in the bench's folder, and any number of connections
 * that ask one request after the other, all in one thread (epoll). A bench says what a connection
 * asks next, and gets each answer. An answer that never comes, or a connection that breaks, ends
 * the bench. */
#ifndef KG_BENCH_SVC_DRIVE_H
#define KG_BENCH_SVC_DRIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

enum { KG_BENCH_KINDS = 5 };

struct kg_bench_service {
    pid_t pid;
    int port;
};

/* args: more words of the command line, NULL-terminated. folder: its name in the bench's folder. */
void kg_bench_service_start(struct kg_bench_service *s, const char *folder,
                            const char *const *args);
void kg_bench_service_stop(struct kg_bench_service *s);
/* Resident memory of its api process, MiB. */
double kg_bench_service_mib(const struct kg_bench_service *s);

struct kg_bench_request {
    int kind; /* below KG_BENCH_KINDS: times are kept for each */
    const char *method;
    char path[256];
    const char *headers; /* whole lines, or "" */
    const char *body;    /* [len]; copied */
    size_t len;
};

struct kg_bench_drive {
    int connections;
    const int *port; /* [nports]; connection i has port i % nports */
    int nports;
    /* What connection i asks now. False: nothing now; it is asked again a millisecond later. */
    bool (*ask)(void *ctx, int i, struct kg_bench_request *out);
    /* body: NUL behind it. */
    void (*answer)(void *ctx, int i, int status, const char *body, size_t len);
    void *ctx;
    double seconds, warm_s;  /* warm_s: comes before, and what is answered then is not counted */
    void (*warm)(void *ctx); /* warm_s is over; NULL: nobody is told */
    const bool *stop;        /* true: it ends at once; NULL: it lasts for its time */
};

struct kg_bench_driven {
    size_t n[KG_BENCH_KINDS];
    double per_s[KG_BENCH_KINDS], p50_ms[KG_BENCH_KINDS], p99_ms[KG_BENCH_KINDS];
};

/* For warm_s and then `seconds`; what is under way at the end is dropped. */
void kg_bench_drive(const struct kg_bench_drive *d, struct kg_bench_driven *out);

/* Connections that ask for a stream and read what comes, until they are closed. fd: [n]. */
void kg_bench_streams_open(int port, const char *path, int *fd, int n);
/* The text of a number behind "NAME": in a JSON text; 0: none. */
double kg_bench_json_number(const char *json, const char *name);

#endif
