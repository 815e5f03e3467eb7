/* How short a time can not be honest: the share of the fastest pass over a kernel's compulsory
 * bytes below which it did not do its work. The two passes differ, so the shares do. */
#ifndef KG_GYM_TIMING_FLOOR_H
#define KG_GYM_TIMING_FLOOR_H

/* Of the judge's own loop on a CPU. Half, because an honest copy may beat that loop by a little,
 * and the floor is a minimum of a few passes. */
#define KG_FLOOR_SHARE_HOST 0.5

/* Of the judge's own copy on a device. Nobody reads faster than the memory gives: 0.9 of bytes over
 * its rated bandwidth. What the judge knows is the bandwidth of its copy, 0.81 of the rated one
 * (2.7 of 3.35 TB/s on an H100), which an honest kernel that only reads can beat. */
#define KG_FLOOR_SHARE_DEVICE 0.75

#endif
