/* Private to tree.c and untree.c: one record of a block. */
#ifndef KG_GYM_BUILD_TREE_PRIVATE_H
#define KG_GYM_BUILD_TREE_PRIVATE_H

#include <stdint.h>

enum { KG_TREE_FOLDER = 1, KG_TREE_FILE = 2, KG_TREE_UP = 3 };

struct kg_tree_head {
    uint32_t kind, name_bytes; /* name_bytes bytes follow, then `bytes` bytes of content */
    uint32_t mode, mtime_ns;
    int64_t mtime_s;
    uint64_t bytes;
};

#endif
