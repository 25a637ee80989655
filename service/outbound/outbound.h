/*
 * outbound: HTTP requests of the daemon to programs on this machine, and to nothing else.
 *
 * An address is a literal of the loopback, `localhost` or a Unix socket, so that no name is looked
 * up and no TLS is spoken; the address of each socket is checked again when it is opened. By
 * libcurl's multi interface in the event loop: nothing blocks, and no thread is started. A request
 * is sent at most once: libcurl would send it again where a kept connection turns out to be closed,
 * and is kept from that. Redirects are not followed, and no variable names a proxy.
 */
#ifndef PATTERND_OUTBOUND_H
#define PATTERND_OUTBOUND_H

#include "core/arena.h"
#include "core/text.h"

/* Of all programs together. */
enum { OUTBOUND_MOST = 256, OUTBOUND_HEAD_MAX = 16 * 1024, OUTBOUND_BODY_MAX = 64 * 1024 };

enum outbound_outcome {
	OUTBOUND_ANSWERED,  /* `status` and all of the body have come */
	OUTBOUND_UNSENT,    /* not one byte was sent */
	OUTBOUND_TIMED_OUT, /* no whole answer within timeout_ms; the program may have worked on it */
	OUTBOUND_BROKEN,    /* the connection ended, or the answer was no HTTP: the same */
};

/* A request; a member of another struct. Texts outlive it. */
struct outbound {
	const char *url;
	const char *unix_socket;    /* NULL: by TCP */
	const struct text *headers; /* "Name: value", each ended by a NUL */
	size_t header_count;
	struct text body;    /* absent: a GET, else a POST */
	int64_t timeout_ms;  /* of the whole */
	struct arena *arena; /* (ref) for the body of the answer */
	/* A header of the answer, in order; NULL: not wanted. Must not call outbound. */
	void (*header)(struct outbound *o, struct text name, struct text value);
	void (*ended)(struct outbound *o); /* called once, from the loop, unless it is cancelled */

	/* The answer. */
	enum outbound_outcome outcome;
	int status;
	struct text answer; /* at most OUTBOUND_BODY_MAX bytes */
	bool is_larger;     /* it had more, or there was no memory for it; what came was dropped */
	const char *why;    /* static: of a failure, for people */

	/* outbound.c's */
	void *easy, *list;
	size_t sent, head_bytes, body_bytes;
	bool is_begun, is_head_whole;
};

/*
 * NULL: the daemon may send requests to this place. Else what is wrong with it, for people; the
 * text is static. `unix_socket` is NULL for TCP.
 */
const char *outbound_refusal(const char *url, const char *unix_socket);

/* Loads libcurl, which takes some 10 ms. False: `why`, of `size` bytes, has the reason. */
bool outbound_load(char *why, size_t size);
/*
 * Then, once, for the loop. False without memory. `freed` is called when OUTBOUND_MOST were under
 * way and one has ended; it must not call outbound.
 */
bool outbound_open(void (*freed)(void));
void outbound_close(void);

/* How many it may have open. */
unsigned outbound_descriptors(void);

/* libcurl's version; "" while it is not loaded. */
const char *outbound_library(void);

/* Requests under way. */
unsigned outbound_count(void);

/*
 * False: it was not begun, since OUTBOUND_MOST are under way or there is no memory. `ended` is
 * called later, never within this.
 */
bool outbound_send(struct outbound *o);

/* Closes its connection; `ended` is not called. Also when it is not under way. */
void outbound_cancel(struct outbound *o);

#endif
