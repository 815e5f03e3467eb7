/* Private to device/: the judge's side of the fork. It opens the device, confines itself where the
 * device allows that, then serves requests from one socket until the socket is closed. */
#ifndef KG_GYM_DEVICE_DEVICE_PROCESS_H
#define KG_GYM_DEVICE_DEVICE_PROCESS_H

#include "gym/device/device_judge.h"

/* Never returns. broker: pid of the process that forked; the judge ends with it. pause: see
 * device_judge.h. */
_Noreturn void kg_dj_main(int sock, const struct kg_dj_spec *spec, pid_t broker,
                          const struct kg_dj_pause *pause);

#endif
