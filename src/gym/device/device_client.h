/* Private to device_client.c and device_client_ask.c: one request to the judge of tensors. */
#ifndef KG_GYM_DEVICE_DEVICE_CLIENT_H
#define KG_GYM_DEVICE_DEVICE_CLIENT_H

#include "base/message.h"
#include "gym/device/device_msg.h"
#include "gym/run/trusted.h"

/* Sends a request and waits for its reply. Where time counts, the device is shared with other users
 * of this host for the length of the request, unless the caller already holds it (j->held).
 *   fd        sent with the request where >= 0; it stays the caller's
 *   building  the runner's word about compiling (tensor/tensor_wire.h), or NULL
 *   got       descriptors of the reply; the caller closes them
 * Errors: KG_E_GYM the judge died or does not answer, KG_E_CANCELLED, or the code of the reply. */
enum kg_code kg_dj_ask(struct kg_dj *j, struct kg_djm_req *req, int fd, _Atomic uint32_t *building,
                       struct kg_djm_rep *rep, int got[KG_MESSAGE_FDS],
                       struct kg_err *err) KG_MUST_USE;

#endif
