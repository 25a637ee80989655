/*
 * torture: the state that a test shares with a daemon preloaded with torture.c. Both map the file
 * that TORTURE_FILE names.
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
	 * malloc, calloc, realloc, memalign, called by GnuTLS or a library that it is built on:
	 * ENOMEM
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
	_Atomic int64_t blocks;          /* allocated blocks of memory, without blocks from before main */
	_Atomic int64_t bytes;           /* in these blocks */
	char where[TORTURE_WHERE_BYTES]; /* callers of the first call that failed: "object+offset", one per line */
};

#endif
