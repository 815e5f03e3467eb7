/* The queue of a supervisor. */
#include "gym/pool/tasks.h"

#include <stdlib.h>
#include <string.h>

void kg_pool_task_destroy(struct kg_pool_task *t)
{
    if (t) {
        json_decref(t->head);
        free(t->body);
        free(t);
    }
}

void kg_pool_tasks_deinit(struct kg_pool_tasks *q)
{
    for (size_t i = 0; i < q->n; i++) {
        kg_pool_task_destroy(q->task[i]);
    }
    free(q->task);
    *q = (struct kg_pool_tasks){0};
}

static bool room(struct kg_pool_tasks *q)
{
    if (q->n == q->cap) {
        size_t cap = q->cap ? 2 * q->cap : 64;
        struct kg_pool_task **grown = realloc(q->task, cap * sizeof(struct kg_pool_task *));
        if (!grown) {
            return false;
        }
        q->task = grown;
        q->cap = cap;
    }
    return true;
}

bool kg_pool_tasks_add(struct kg_pool_tasks *q, struct kg_pool_task *t)
{
    if (!room(q)) {
        return false;
    }
    t->seq = q->submitted++;
    q->task[q->n++] = t;
    return true;
}

bool kg_pool_tasks_return(struct kg_pool_tasks *q, struct kg_pool_task *t)
{
    if (!room(q)) {
        return false;
    }
    size_t at = 0;
    while (at < q->n && q->task[at]->seq < t->seq) {
        at++;
    }
    memmove(q->task + at + 1, q->task + at, (q->n - at) * sizeof(struct kg_pool_task *));
    q->task[at] = t;
    q->n++;
    return true;
}

struct kg_pool_task *kg_pool_tasks_take(struct kg_pool_tasks *q, size_t at)
{
    struct kg_pool_task *t = q->task[at];
    q->n--;
    memmove(q->task + at, q->task + at + 1, (q->n - at) * sizeof(struct kg_pool_task *));
    return t;
}

size_t kg_pool_tasks_find(const struct kg_pool_tasks *q, uint64_t id)
{
    size_t i = 0;
    while (i < q->n && q->task[i]->id != id) {
        i++;
    }
    return i;
}

size_t kg_pool_tasks_choose(const struct kg_pool_tasks *q, uint64_t held,
                            const struct kg_pool_holder *others, int nothers, double lead)
{
    struct kg_pool_waiting waiting[KG_POOL_REACH];
    size_t n = 0;
    while (n < q->n && n < KG_POOL_REACH) {
        waiting[n] = (struct kg_pool_waiting){q->task[n]->seq, q->task[n]->problem};
        n++;
    }
    size_t at = n == 0 ? 0 : kg_pool_choose(waiting, n, held, others, nothers, lead);
    return at < n ? at : q->n;
}
