/* Which lane an idle slot takes its next job from: a pure function, for stores that choose in the
 * process. The rules are those of a batch (docs/batches.md), within the highest priority that has a
 * job, and a bound in time:
 *
 *   0. A lane that nobody has served for KG_SVC_LANE_WAIT_MS is due, whatever its priority. A slot
 *      whose turn has lasted for KG_SVC_TURN_MS, or that holds no problem, takes the lane that has
 *      been due for longest. A turn begins with a slot's first job, and with the first one of
 *      another problem after KG_SVC_TURN_MS.
 *   1. else the lane that the slot holds;
 *   2. else the lane with the oldest job, of those that nobody holds;
 *   3. else the lane that would leave the most jobs for each slot if this one joined in.
 *
 * So no lane starves: with S slots and D due lanes one is served after at most
 * KG_SVC_LANE_WAIT_MS + (D / S + 1) * (KG_SVC_TURN_MS + the time of one evaluation). */
#ifndef KG_SVC_LANES_H
#define KG_SVC_LANES_H

#include "svc/store.h"

enum { KG_SVC_LANE_WAIT_MS = 60000, KG_SVC_TURN_MS = 15000 };

struct kg_svc_lane {
    int64_t id;
    char name[KG_SHA256_HEX];
    int priority;
    int64_t waiting,
        holders;             /* holders: slots that run a job of this name, whatever its priority */
    int64_t served_ms;       /* when a job of it was claimed last, or when it got its first one */
    char first[KG_ULID_LEN]; /* its oldest waiting job */
};

/* Index into lanes [n], or n: none has a job. others_too false: rules 0 and 1 alone, for a first
 * pass over the idle slots of one worker, so that none takes what another one holds. */
size_t kg_svc_lanes_choose(const struct kg_svc_lane *lanes, size_t n,
                           const struct kg_svc_slot *slot, int64_t now_ms, bool others_too);

#endif
