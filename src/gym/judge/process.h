/* Private to judge/: the child's side of the fork. Drops what it does not need, confines itself,
 * then serves requests from one socket until it is closed. Never returns. */
#ifndef KG_GYM_JUDGE_PROCESS_H
#define KG_GYM_JUDGE_PROCESS_H

#include <sys/types.h>

/* broker: pid of the process that forked. cpu: pin; -1: do not. */
_Noreturn void kg_judge_main(int sock, int cpu, pid_t broker);

#endif
