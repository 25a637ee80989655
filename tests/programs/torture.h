/*
 * torture: what a test and a daemon that is preloaded with torture.c share, in a file that both
 * have mapped (TORTURE_FILE names it).
 */
#ifndef TEST_PROGRAMS_TORTURE_H
#define TEST_PROGRAMS_TORTURE_H

#include <stdatomic.h>
#include <stdint.h>

/* Calls that fail for the same cause. */
enum torture_kind {
	TORTURE_MEMORY,  /* malloc, calloc, realloc, memalign: ENOMEM; except the calls of TORTURE_TLS */
	TORTURE_SOCKET,  /* socket, bind, listen, epoll_create1, eventfd, signalfd: EMFILE */
	TORTURE_ACCEPT,  /* accept4: EMFILE */
	TORTURE_CONNECT, /* connect: ECONNREFUSED */
	TORTURE_EPOLL,   /* epoll_ctl, to add or change: ENOMEM */
	TORTURE_READ,    /* read: EIO; recv, recvmsg: ECONNRESET */
	TORTURE_WRITE,   /* write: ENOSPC; send, sendto, sendmsg, writev: EPIPE */
	TORTURE_OPEN,    /* open, fopen: EMFILE */
	/*
	 * malloc, calloc, realloc, memalign that GnuTLS calls, and what it is built on: ENOMEM
	 */
	TORTURE_TLS,
	TORTURE_KINDS,
};

enum { TORTURE_WHERE_BYTES = 2048 };

struct torture {
	_Atomic int kind;                /* which calls are counted; TORTURE_KINDS: none */
	_Atomic uint64_t first;          /* the first that fails, from 1 on; 0: none */
	_Atomic uint64_t last;           /* and the last */
	_Atomic uint64_t seen;           /* calls of that kind since it was armed */
	_Atomic int64_t blocks;          /* of memory that are allocated; those from before main aside */
	_Atomic int64_t bytes;           /* in these */
	char where[TORTURE_WHERE_BYTES]; /* callers of the first call that failed: "object+offset", one a line */
};

#endif
