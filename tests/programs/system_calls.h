/*
 * system_calls: the counts that a test shares with a daemon preloaded with system_calls.c. Both map
 * the file that SYSTEM_CALLS_FILE names.
 */
#ifndef TEST_PROGRAMS_SYSTEM_CALLS_H
#define TEST_PROGRAMS_SYSTEM_CALLS_H

#include <stdatomic.h>
#include <stdint.h>

struct system_calls {
	_Atomic uint64_t polls;  /* epoll_wait, epoll_pwait, poll */
	_Atomic uint64_t reads;  /* read, recv, recvmsg */
	_Atomic uint64_t writes; /* write, writev, send, sendto, sendmsg */
	_Atomic uint64_t others; /* epoll_ctl, ioctl, setsockopt, clock_gettime of CPU time */
};

#endif
