/* Objects by content: <dir>/<2 hex>/<key>.so, each followed by a line with the hash of key and
 * object, so that a torn, truncated, edited or renamed file is noticed and built again. Loaders
 * ignore what follows an object. */
#ifndef KG_GYM_BUILD_CACHE_H
#define KG_GYM_BUILD_CACHE_H

#include "base/hash.h"

#define KG_OBJECT_MAX_BYTES (64u << 20)

/* False: the path does not fit. */
bool kg_cache_path(const char *dir, const char *key, char *out, size_t cap);
/* True: path holds a whole object for key. Anything else there is removed. Objects: *exports says
 * whether it exports the function entry. */
bool kg_cache_check(const char *path, const char *key, const char *entry, bool *exports);
/* All bytes of a regular file of bounded size; NULL otherwise. The caller frees. */
char *kg_object_read(int fd, size_t *n);
/* Write an object there, all or nothing. Not synced: a torn file is noticed. */
enum kg_code kg_cache_put(const char *path, const char *key, const void *bytes, size_t n,
                          struct kg_err *err) KG_MUST_USE;

#endif
