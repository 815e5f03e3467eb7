/* Event files of TensorBoard: scalars, in the records of TFRecord (length, its CRC, bytes, their
 * CRC) that hold an Event of TensorFlow's protocol buffers. Pure functions. */
#ifndef KG_RL_RUN_RUN_EVENTS_H
#define KG_RL_RUN_RUN_EVENTS_H

#include <jansson.h>

#include "base/buf.h"

/* Appends the record with which a file begins. wall: seconds since 1970. */
void rl_events_begin(double wall, struct kg_buf *out);
/* Appends one record: each number of the line as a scalar "PHASE/NAME" at its `step` (0 where it
 * has none). Appends nothing for a line without numbers. */
void rl_events_scalars(double wall, const json_t *line, struct kg_buf *out);
/* CRC-32C, masked as TFRecord wants it. */
uint32_t rl_events_crc(const void *bytes, size_t n);

#endif
