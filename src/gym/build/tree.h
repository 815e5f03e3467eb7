/* Packs folders into one block of bytes, and unpacks them. The broker keeps so what a candidate's
 * compilers wrote, for the next runner of the same source.
 *
 * The contents are hostile. Only folders and regular files are taken, links are not followed, and
 * everything is bounded. No name in a block becomes a path of the host: the block is one file, and
 * it is unpacked into a runner's own /tmp. Modes and modification times of files are kept, because
 * ninja relies on them. */
#ifndef KG_GYM_BUILD_TREE_H
#define KG_GYM_BUILD_TREE_H

#include <sys/types.h>

#include "base/buf.h"

#define KG_TREE_MAX_ENTRIES 4096 /* files and folders; a runner's /tmp has 8192 inodes */
#define KG_TREE_MAX_DEPTH   12   /* depth of folders: Triton has 2, extensions mostly 2 */

/* Appends the folders of these names in dir. A missing one is left out, and so are locks (`lock`,
 * `*.lock`). If all are empty, out stays as it was. KG_E_LIMIT: other things than folders and
 * files, or too much, or it changed meanwhile; KG_E_IO. After an error the contents of out are
 * useless. The owner of the folders should be dead. */
enum kg_code kg_tree_pack(int dir, const char *const *names, size_t n, struct kg_buf *out,
                          struct kg_err *err) KG_MUST_USE;
/* True if this block can be unpacked. Any bytes may be given. */
bool kg_tree_check(const void *bytes, size_t n);
/* Makes the folders in dir, each all or nothing. None may exist with contents. uid, gid: owner of
 * files and folders (-1: the caller's). KG_E_GYM: not a block. After an error something may be left
 * under the name `.kgym-tree`. */
enum kg_code kg_tree_unpack(const void *bytes, size_t n, int dir, uid_t uid, gid_t gid,
                            struct kg_err *err) KG_MUST_USE;

#endif
