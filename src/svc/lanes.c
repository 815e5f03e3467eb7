/* The choice of a lane. */
#include "svc/lanes.h"

#include <string.h>

static size_t due(const struct kg_svc_lane *lanes, size_t n, int64_t now_ms)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
        if (lanes[i].waiting > 0 && now_ms - lanes[i].served_ms >= KG_SVC_LANE_WAIT_MS &&
            (best == n || lanes[i].served_ms < lanes[best].served_ms)) {
            best = i;
        }
    }
    return best;
}

static int highest(const struct kg_svc_lane *lanes, size_t n)
{
    int priority = KG_SVC_PRIORITIES;
    for (size_t i = 0; i < n; i++) {
        if (lanes[i].waiting > 0 && lanes[i].priority < priority) {
            priority = lanes[i].priority;
        }
    }
    return priority;
}

/* Is a better than b, by rules 2 and 3? */
static bool better(const struct kg_svc_lane *a, const struct kg_svc_lane *b)
{
    if ((a->holders == 0) != (b->holders == 0)) {
        return a->holders == 0;
    }
    if (a->holders > 0) {
        double mine = (double)a->waiting / (double)(a->holders + 1);
        double other = (double)b->waiting / (double)(b->holders + 1);
        if (mine != other) {
            return mine > other;
        }
    }
    return strcmp(a->first, b->first) < 0;
}

size_t kg_svc_lanes_choose(const struct kg_svc_lane *lanes, size_t n,
                           const struct kg_svc_slot *slot, int64_t now_ms, bool others_too)
{
    if (slot->lane[0] == '\0' || slot->held_ms >= KG_SVC_TURN_MS) {
        size_t at = due(lanes, n, now_ms);
        if (at < n) {
            return at;
        }
    }
    int priority = highest(lanes, n);
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
        if (lanes[i].waiting == 0 || lanes[i].priority != priority) {
            continue;
        }
        if (strcmp(lanes[i].name, slot->lane) == 0) {
            return i;
        }
        if (others_too && (best == n || better(&lanes[i], &lanes[best]))) {
            best = i;
        }
    }
    return best;
}
