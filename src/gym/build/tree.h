/* Folders as one block of bytes, and back: what a candidate's compilers have left, kept by the
 * broker for the next runner of the same source. What is packed is hostile: only folders and
 * regular files are taken, nothing is followed, and all of it is bounded. No name from there is
 * ever a path of the host's: a block is one file, and is unpacked into a runner's own /tmp. Modes
 * and times of change of files come back as they were, since ninja goes by them. */
#ifndef KG_GYM_BUILD_TREE_H
#define KG_GYM_BUILD_TREE_H

#include <sys/types.h>

#include "base/buf.h"

#define KG_TREE_MAX_ENTRIES 4096 /* files and folders; a runner's /tmp has 8192 inodes */
#define KG_TREE_MAX_DEPTH   12   /* folders in folders: Triton has 2, extensions mostly 2 */

/* Appends the folders of these names in dir; one that is not there is left out, and so are locks
 * (`lock`, `*.lock`). Nothing but empty folders is nothing: out stays as it was. KG_E_LIMIT: there
 * is something else than folders and files, or too much, or it changed meanwhile; KG_E_IO. What out
 * holds after an error is of no use. The folders' owner should be dead. */
enum kg_code kg_tree_pack(int dir, const char *const *names, size_t n, struct kg_buf *out,
                          struct kg_err *err) KG_MUST_USE;
/* Is this a block that can be unpacked? Any bytes get an answer. */
bool kg_tree_check(const void *bytes, size_t n);
/* Makes the folders in dir, each all or nothing; none may be there with something in it. Files and
 * folders are uid's and gid's (-1: the caller's). KG_E_GYM: no such block. Under the name
 * `.kgym-tree` something may be left after an error. */
enum kg_code kg_tree_unpack(const void *bytes, size_t n, int dir, uid_t uid, gid_t gid,
                            struct kg_err *err) KG_MUST_USE;

#endif
