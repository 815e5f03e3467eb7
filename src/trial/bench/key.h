/* Names of turns and conversations, as all files of a trial have them: turn 2 of sample 3 of
 * problem NAME is "NAME/s3/t2", its conversation "NAME/s3". Pure; thread safe. */
#ifndef KG_TRIAL_BENCH_KEY_H
#define KG_TRIAL_BENCH_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TR_NAME_BYTES = 160,
    TR_KEY_BYTES = 200
}; /* of a problem's name at most; of a key's array */

/* turn 0: the conversation's. */
void tr_key_write(const char *name, uint32_t sample, uint32_t turn, char out[TR_KEY_BYTES]);
/* turn NULL: the key must be a conversation's. name_len: bytes of NAME. False: no such form; a
 * number is at least 1 and has no leading zero. */
bool tr_key_read(const char *key, size_t *name_len, uint32_t *sample, uint32_t *turn);

#endif
