/*
 * outbound: HTTP requests of the daemon to programs on this machine, and to no others. It must not
 * know patterns.
 *
 * An address is a literal loopback address, `localhost` or a Unix socket, so no name is looked up
 * and TLS is not used. The address of each socket is checked again when it is opened. It uses
 * libcurl's multi interface in the event loop: nothing blocks, and no thread is started. A request
 * is sent at most once: libcurl would send it again if a kept connection turns out to be closed,
 * and is prevented from that. Redirects are not followed, and environment variables cannot set a
 * proxy.
 */
#ifndef PATTERND_OUTBOUND_H
#define PATTERND_OUTBOUND_H

#include "core/arena.h"
#include "core/text.h"

/* OUTBOUND_MOST is the limit for all programs together. */
enum { OUTBOUND_MOST = 256, OUTBOUND_HEAD_MAX = 16 * 1024, OUTBOUND_BODY_MAX = 64 * 1024 };

enum outbound_outcome {
	OUTBOUND_ANSWERED,  /* `status` and the whole body have arrived */
	OUTBOUND_UNSENT,    /* not one byte was sent */
	OUTBOUND_TIMED_OUT, /* no complete answer within timeout_ms; the program may have worked on it */
	OUTBOUND_BROKEN,    /* the connection ended, or the answer is not HTTP; the program may have worked on it */
};

/* A request, as a member of another struct. Its texts must outlive it. */
struct outbound {
	const char *url;
	const char *unix_socket;    /* NULL: TCP */
	const struct text *headers; /* "Name: value", each ends in NUL */
	size_t header_count;
	struct text body;    /* absent: a GET, else a POST */
	int64_t timeout_ms;  /* for the whole request */
	struct arena *arena; /* (ref) for the body of the answer */
	/*
	 * Called with each header of the answer, in order. NULL: not wanted. It must not call
	 * outbound.
	 */
	void (*header)(struct outbound *o, struct text name, struct text value);
	void (*ended)(struct outbound *o); /* called once, from the loop, unless the request is cancelled */

	/* Set before `ended` is called: */
	enum outbound_outcome outcome;
	int status;
	struct text answer; /* at most OUTBOUND_BODY_MAX bytes */
	bool is_larger;     /* it had more, or memory ran out; the body was dropped */
	const char *why;    /* static: why it failed */

	/* Used by outbound.c only: */
	void *easy, *list;
	size_t sent, head_bytes, body_bytes;
	bool is_begun, is_head_whole;
};

/*
 * Returns NULL if the daemon may send requests to this address. Otherwise returns what is wrong, as
 * static text. `unix_socket` is NULL for TCP.
 */
const char *outbound_refusal(const char *url, const char *unix_socket);

/*
 * Loads libcurl, which takes about 10 ms. Returns false if it fails; `why`, of `size` bytes, has
 * the reason.
 */
bool outbound_load(char *why, size_t size);
/*
 * Call it once, after outbound_load, when the loop is open. `freed` is called when one of
 * OUTBOUND_MOST open requests has ended; it must not call outbound. False: memory ran out.
 */
bool outbound_open(void (*freed)(void));
void outbound_close(void);

/* Returns how many descriptors it may open. */
unsigned outbound_descriptors(void);

/* Returns libcurl's version; "" while it is not loaded. */
const char *outbound_library(void);

/* Returns the number of open requests. */
unsigned outbound_count(void);

/*
 * Sends a request. False: nothing was sent, since OUTBOUND_MOST are open or memory ran out. `ended`
 * is called later, never within this.
 */
bool outbound_send(struct outbound *o);

/*
 * Closes its connection, without a call of `ended`. It may also be called if the request is not
 * open.
 */
void outbound_cancel(struct outbound *o);

#endif
