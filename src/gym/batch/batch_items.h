/* Private to the batch: its input lines. The text stays in one buffer; a line is parsed again when
 * it is evaluated, so that a large batch costs its file's size and little more. */
#ifndef KG_GYM_BATCH_BATCH_ITEMS_H
#define KG_GYM_BATCH_BATCH_ITEMS_H

#include "base/json.h"
#include "gym/eval/evaluate.h"

#define KG_BATCH_MAX_BYTES (2ull << 30)

struct kg_item {
    size_t at, len; /* of its line in the text */
    int line;
    char *id;
    char *kept;   /* record of an earlier run that still holds and is to be written; or NULL */
    bool kept_ok; /* its verdict is `ok` */
};

struct kg_items {
    struct kg_buf text;
    const char *path;
    char folder[512];
    struct kg_item *item;
    size_t n;
};

/* Reads and checks every line; errors name file and line. */
enum kg_code kg_items_load(const char *path, struct kg_items *out, struct kg_err *err) KG_MUST_USE;
void kg_items_deinit(struct kg_items *items);

/* One line ready to be judged; text and problem point into *line or *file. */
struct kg_item_task {
    struct kg_task task;
    json_t *line;
    struct kg_buf file;
    char problem[1024];
};
enum kg_code kg_item_open(const struct kg_items *items, size_t i, struct kg_item_task *out,
                          struct kg_err *err) KG_MUST_USE;
void kg_item_close(struct kg_item_task *t);

#endif
