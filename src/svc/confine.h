/* An api process confines itself before it parses a request: it executes nothing, opens no file
 * outside its folders, and makes no connection but to its store. Whoever takes it over by a request
 * has the store, and no more of the host. Landlock confines files, TCP and signals, a filter of
 * system calls (seccomp) programs, sockets and what rules other processes and the kernel. Neither
 * can be taken back. */
#ifndef KG_SVC_CONFINE_H
#define KG_SVC_CONFINE_H

#include "base/err.h"

enum { KG_SVC_NO_CONNECTION = -1, KG_SVC_LOCAL_SOCKET = 0 };

struct kg_svc_reach {
    const char *folder;       /* may be changed, with all below it */
    const char *const *reads; /* files and folders that may be read, NULL-terminated; one that is
                                 not there is left out */
    int connects;             /* to this TCP port, or one of the two values above */
};

enum { KG_SVC_LACKS_MAX = 200 };

/* Confines the process, which must have one thread. lacks: what this host can't do of it, as the
 * end of a sentence; "": nothing. Errors: HOST (a step failed that the host has; more threads). */
enum kg_code kg_svc_confine(const struct kg_svc_reach *reach, char lacks[KG_SVC_LACKS_MAX],
                            struct kg_err *err) KG_MUST_USE;

#endif
