/* Private to client*.c. */
#ifndef KG_GYM_DEVICE_DEVICE_CLIENT_H
#define KG_GYM_DEVICE_DEVICE_CLIENT_H

#include "base/message.h"
#include "gym/device/device_msg.h"
#include "gym/run/trusted.h"

/* Where time counts, the device is shared with others of this host for one request, unless the
 * caller holds it. fd: sent where >= 0; building: the runner's word about it, or NULL. */
enum kg_code kg_dj_ask(struct kg_dj *j, struct kg_djm_req *req, int fd, _Atomic uint32_t *building,
                       struct kg_djm_rep *rep, int got[KG_MESSAGE_FDS],
                       struct kg_err *err) KG_MUST_USE;

#endif
