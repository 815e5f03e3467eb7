/* What was built, by the hash of what it was built from: <dir>/<2 hex>/<key>.<suffix>, objects (so)
 * and folders in one block (tree.h), each followed by a line with the hash of key and content, so
 * that a torn, truncated, edited or renamed file is noticed and built again. Loaders ignore what
 * follows an object. */
#ifndef KG_GYM_BUILD_CACHE_H
#define KG_GYM_BUILD_CACHE_H

#include "base/hash.h"

#define KG_OBJECT_MAX_BYTES (64u << 20)
#define KG_CACHE_TAIL_BYTES 128u /* of these at most for the line at the end */

/* What the environment's variable names (`none`: ""), else <cache of this user>/kgym/<part>; "":
 * nothing is to be kept. */
void kg_cache_folder(const char *variable, const char *part, char *out, size_t cap);
/* False: the path does not fit. */
bool kg_cache_path(const char *dir, const char *key, const char *suffix, char *out, size_t cap);
/* True: path holds a whole object for key. Anything else there is removed. Objects: *exports says
 * whether it exports the function entry. */
bool kg_cache_check(const char *path, const char *key, const char *entry, bool *exports);
/* The content, and the file counts as used now. NULL: there is none that is whole; anything else
 * there is removed. The caller frees. */
char *kg_cache_get(const char *path, const char *key, size_t *n);
/* While all files below dir are more than that many bytes: the one that was not used for longest is
 * removed, also what a writer that died has left. Best effort: others may do the same. */
void kg_cache_trim(const char *dir, int64_t most_bytes);
/* All bytes of a regular file of bounded size; NULL otherwise. The caller frees. */
char *kg_object_read(int fd, size_t *n);
/* Write an object there, all or nothing. Not synced: a torn file is noticed. */
enum kg_code kg_cache_put(const char *path, const char *key, const void *bytes, size_t n,
                          struct kg_err *err) KG_MUST_USE;

#endif
