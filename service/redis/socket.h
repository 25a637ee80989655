/*
 * socket: a byte stream to a Redis server: name resolution, connect, and TLS for rediss://.
 *
 * Owns the descriptor and the TLS session. It must not know RESP.
 */
#ifndef PATTERND_REDIS_SOCKET_H
#define PATTERND_REDIS_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/loop.h"
#include "net/resolve.h"
#include "redis/url.h"

enum { SOCKET_WHY_BYTES = 192 };

struct redis_socket;
struct tls_session;

/* The functions may close the socket. */
struct redis_socket_callbacks {
	void (*opened)(struct redis_socket *s);   /* connected, TLS included */
	bool (*readable)(struct redis_socket *s); /* false: redis_socket_read returned 0 */
	void (*failed)(struct redis_socket *s, const char *why);
};

enum redis_socket_state { SOCKET_CLOSED, SOCKET_RESOLVING, SOCKET_CONNECTING, SOCKET_TLS_HANDSHAKE, SOCKET_OPEN };

/* Lives inside its owner. Zero but for `callbacks`. */
struct redis_socket {
	const struct redis_socket_callbacks *callbacks; /* (ref) */
	const struct redis_url *url;                    /* (ref) */
	enum redis_socket_state state;
	struct loop_watch watch;
	struct resolve_lookup lookup;
	struct tls_session *tls; /* owned; NULL: plain */
	unsigned attempt;        /* which address of the name, modulo their number */
	uint64_t sealed;         /* bytes that may have left, though not reported as written */
	bool wants_write;        /* waiting for EPOLLOUT */
	bool held;               /* not waiting for EPOLLIN */
	bool was_read;           /* since it was opened */
	bool tls_rejected;       /* the next attempt fails the same way */
};

/*
 * Connects; `attempt` counts failures so far. `opened` or `failed` follows, perhaps before this
 * returns. Borrows `url` until redis_socket_close.
 */
void redis_socket_open(struct redis_socket *s, const struct redis_url *url, unsigned attempt);
void redis_socket_close(struct redis_socket *s);

/* Returns the number of bytes read; 0 when there are none now, or it has failed. */
size_t redis_socket_read(struct redis_socket *s, char *at, size_t size);

/*
 * Returns the number of bytes written; 0 when the kernel takes no more now, or it has failed. After
 * 0 the next call must begin with the same bytes.
 */
size_t redis_socket_write(struct redis_socket *s, const char *at, size_t len);

/* While it is held nothing is read; what arrives stays with the kernel. Closing ends it. */
void redis_socket_hold(struct redis_socket *s, bool held);

/* Why an attempt has timed out, for people. */
const char *redis_socket_overdue(const struct redis_socket *s);

/* True once any server has accepted a connection. */
bool redis_socket_any_accepted(void);

#endif
