/* Private to pool/: the tasks of a supervisor that wait for a worker, oldest first. */
#ifndef KG_GYM_POOL_TASKS_H
#define KG_GYM_POOL_TASKS_H

#include "base/json.h"
#include "gym/pool/choose.h"

/* How often a worker that was ready may die over a task, and how often a supervisor may while a
 * worker has it, before the task ends with an error. */
#define KG_POOL_TRIES 2

struct kg_pool_task {
    uint64_t id, problem; /* of the caller; of its problem's text, never 0 */
    uint64_t seq;         /* of its submission */
    json_t *head;         /* of its frame */
    char *body;
    size_t len;
    int64_t deadline_ns; /* monotonic; 0: none */
    int losses;          /* workers that died over it */
    int64_t refused_ns;  /* since then no worker that got it could start; 0: not so */
    bool cancelled;      /* by the caller */
    bool late;           /* its deadline has passed */
    int64_t stop_ns;     /* its worker is told to stop since then; 0: it is not */
};
void kg_pool_task_destroy(struct kg_pool_task *t);

struct kg_pool_tasks {
    struct kg_pool_task **task; /* [n], by seq, ascending; owned */
    size_t n, cap;
    uint64_t submitted;
};
void kg_pool_tasks_deinit(struct kg_pool_tasks *q);
/* Takes t. False: no memory; t is still the caller's. */
bool kg_pool_tasks_add(struct kg_pool_tasks *q, struct kg_pool_task *t);
/* A task that was taken waits again, at its old place. False: no memory. */
bool kg_pool_tasks_return(struct kg_pool_tasks *q, struct kg_pool_task *t);
/* The caller owns what is taken. */
struct kg_pool_task *kg_pool_tasks_take(struct kg_pool_tasks *q, size_t at);
/* Index of the task with this id, or q->n. */
size_t kg_pool_tasks_find(const struct kg_pool_tasks *q, uint64_t id);
/* The task for an idle worker by the rule of choose.h, or q->n. */
size_t kg_pool_tasks_choose(const struct kg_pool_tasks *q, uint64_t held,
                            const struct kg_pool_holder *others, int nothers, double lead);

#endif
