/* Files and folders: bounded reads, atomic writes, trees. Paths are UTF-8 as given by the OS.
 * Messages name the path and the system's reason. */
#ifndef KG_BASE_FILE_H
#define KG_BASE_FILE_H

#include "base/buf.h"

/* Append the whole file to *out; more than out->max bytes is KG_E_LIMIT. "-" is standard input. A
 * pipe is read to its end; one that nobody has opened to write within a second is KG_E_IO. */
enum kg_code kg_file_read(const char *path, struct kg_buf *out, struct kg_err *err) KG_MUST_USE;
/* Write path.tmp.PID beside it, fsync, rename: readers see the old file or the new, never half. */
enum kg_code kg_file_write_atomic(const char *path, const void *bytes, size_t n,
                                  struct kg_err *err) KG_MUST_USE;
/* After a rename to path: it is durable only once the folder is on disk. Where a file system cannot
 * do that (EINVAL), the rename is still atomic. */
void kg_file_sync_folder_of(const char *path);
enum kg_code kg_file_mkdirs(const char *path, unsigned mode, struct kg_err *err) KG_MUST_USE;
/* Opens a folder and locks it, for as long as *fd is open. Errors: KG_E_USAGE (another process has
 * it), KG_E_IO. */
enum kg_code kg_file_lock_folder(const char *folder, int *fd, struct kg_err *err) KG_MUST_USE;
/* Remove path and all below it without following links or leaving its file system. A path that is
 * not there is success. */
enum kg_code kg_file_remove_tree(const char *path, struct kg_err *err) KG_MUST_USE;
bool kg_file_exists(const char *path);
/* Write n bytes, continuing after EINTR and short writes. */
enum kg_code kg_file_write_all(int fd, const void *bytes, size_t n, struct kg_err *err) KG_MUST_USE;
/* path as it is meant from any folder: a relative one lies below the current folder, and links stay
 * links. */
enum kg_code kg_file_absolute(const char *path, char *out, size_t cap,
                              struct kg_err *err) KG_MUST_USE;
/* Directory of the running executable, no trailing slash. */
enum kg_code kg_file_self_dir(char *out, size_t cap, struct kg_err *err) KG_MUST_USE;

#endif
