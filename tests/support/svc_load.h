/* Clients of a service that is killed all the time, and the ledger of what they were promised. A
 * client sends a job until it is answered, always with the same key, so each key is one job in the
 * end. The ledger is in memory that all processes of the test share. */
#ifndef KG_TESTS_SUPPORT_SVC_LOAD_H
#define KG_TESTS_SUPPORT_SVC_LOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/hash.h"

enum { SVC_LOAD_CLIENTS = 2, SVC_LOAD_MOST = 20000, SVC_LOAD_PORTS = 2 };

struct svc_load_entry {
    char key[32], id[32];    /* id "": it was never answered */
    char sum[KG_SHA256_HEX]; /* of its record when it was first seen; "": not yet */
    bool endless;            /* its candidate never ends; else there is no code in the reply */
};

struct svc_load_faults {
    _Atomic int lost;    /* an id that was answered is not there, or never ends */
    _Atomic int changed; /* a record is another one than before, or another job's */
    _Atomic int doubled; /* one key is two jobs */
    _Atomic int refused; /* an answer that is neither an acceptance nor "not now" */
};

struct svc_load {
    _Atomic bool stop;
    _Atomic int n; /* entries in use */
    int port[SVC_LOAD_PORTS], nports;
    struct svc_load_faults faults;
    struct svc_load_entry entry[SVC_LOAD_MOST];
};

/* An empty ledger; the caller unmaps it by svc_load_free. */
struct svc_load *svc_load_new(const int *ports, int nports);
void svc_load_free(struct svc_load *l);
/* Starts the clients. stop ends them and waits for their end, which is after the last answer. */
void svc_load_start(struct svc_load *l, pid_t client[SVC_LOAD_CLIENTS]);
void svc_load_stop(struct svc_load *l, const pid_t client[SVC_LOAD_CLIENTS]);
/* Waits until no job waits or runs; one that is dead is asked for again. Then counts in faults what
 * the ledger and the service at port[0] disagree about. */
void svc_load_check(struct svc_load *l);

#endif
