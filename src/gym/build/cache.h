/* The cache of what was built. The key is a hash of everything that went into the build; the path
 * is <dir>/<2 hex>/<key>.<suffix>. It holds objects (so), and folders as one block (tree.h).
 *
 * Each file ends with a line that has the hash of key and content. So a torn, truncated, edited or
 * renamed file is noticed, and built again. Loaders ignore what follows an object. */
#ifndef KG_GYM_BUILD_CACHE_H
#define KG_GYM_BUILD_CACHE_H

#include "base/hash.h"

#define KG_OBJECT_MAX_BYTES (64u << 20)
#define KG_CACHE_TAIL_BYTES 128u /* most bytes of the line at the end */

/* True: this process is root's, and this folder, or the next one above it that exists, is another
 * user's. That user could put objects there, which root would load. It is told once. */
bool kg_cache_not_ours(const char *dir);
/* The folder of a cache: the value of an environment variable (`none` gives ""), else <cache of
 * this user>/kgym/<part>, unless that is not ours. "": keep nothing. */
void kg_cache_folder(const char *variable, const char *part, char *out, size_t cap);
/* <dir>/<2 hex>/<key>.<suffix> into out. False: it does not fit. */
bool kg_cache_path(const char *dir, const char *key, const char *suffix, char *out, size_t cap);
/* True if path holds a whole object for key; anything else there is removed. *exports: whether an
 * object exports the function `entry`. */
bool kg_cache_check(const char *path, const char *key, const char *entry, bool *exports);
/* The content, malloc'ed; the file counts as used now. NULL: there is no whole file; anything else
 * there is removed. */
char *kg_cache_get(const char *path, const char *key, size_t *n);
/* Removes the least recently used files below dir until all together have most_bytes at most. Files
 * that a dead writer left are removed too. Other processes may do the same at once. */
void kg_cache_trim(const char *dir, int64_t most_bytes);
/* All bytes of a regular file of bounded size, malloc'ed; NULL otherwise. */
char *kg_object_read(int fd, size_t *n);
/* Writes a file, all or nothing. It is not synced, because a torn file is noticed. KG_E_IO: not
 * written. */
enum kg_code kg_cache_put(const char *path, const char *key, const void *bytes, size_t n,
                          struct kg_err *err) KG_MUST_USE;

#endif
