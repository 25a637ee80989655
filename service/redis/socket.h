/*
 * socket: a byte stream to a Redis server: name resolution, connect, and TLS for rediss://. It owns
 * the descriptor and the TLS session. It must not know RESP.
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

/* The callbacks may close the socket. */
struct redis_socket_callbacks {
	void (*opened)(struct redis_socket *s);   /* connected, TLS included */
	bool (*readable)(struct redis_socket *s); /* false: redis_socket_read returned 0 */
	void (*failed)(struct redis_socket *s, const char *why);
};

enum redis_socket_state {
	SOCKET_CLOSED,        /* no descriptor */
	SOCKET_RESOLVING,     /* `lookup` asks for the addresses of the name */
	SOCKET_CONNECTING,    /* connect() is under way */
	SOCKET_TLS_HANDSHAKE, /* `tls` exchanges its first records */
	SOCKET_OPEN,          /* `readable` is called; the owner may write */
};

/* Part of its owner. All but `callbacks` must be zero. */
struct redis_socket {
	const struct redis_socket_callbacks *callbacks; /* (ref) */
	const struct redis_url *url;                    /* (ref) */
	enum redis_socket_state state;
	struct loop_watch watch;
	struct resolve_lookup lookup;
	struct tls_session *tls; /* owned; NULL: no TLS */
	unsigned attempt;        /* index of the address of the name, modulo their number */
	uint64_t sealed;         /* bytes that may have been sent, though they are not reported as written */
	bool wants_write;        /* it waits for EPOLLOUT */
	bool held;               /* it does not wait for EPOLLIN */
	bool was_read;           /* something was read since it was opened */
	bool tls_rejected;       /* the next attempt would fail the same way */
};

/*
 * Connects. `attempt` is the number of failures so far. `opened` or `failed` is called, perhaps
 * before this returns. It uses `url` until redis_socket_close.
 */
void redis_socket_open(struct redis_socket *s, const struct redis_url *url, unsigned attempt);
void redis_socket_close(struct redis_socket *s);

/* Returns the number of bytes read; 0 if there are none now, or the socket has failed. */
size_t redis_socket_read(struct redis_socket *s, char *at, size_t size);

/*
 * Returns the number of bytes written; 0 if the kernel takes no more now, or the socket has failed.
 * After 0 the next call must begin with the same bytes.
 */
size_t redis_socket_write(struct redis_socket *s, const char *at, size_t len);

/* Does what redis_socket_write does, but never reports a failure, and writes nothing with TLS. */
size_t redis_socket_write_ahead(const struct redis_socket *s, const char *at, size_t len);

/*
 * While the socket is held, nothing is read; what arrives stays in the kernel. Closing it ends the
 * hold.
 */
void redis_socket_hold(struct redis_socket *s, bool held);

/* Returns why an attempt has timed out, as text. */
const char *redis_socket_overdue(const struct redis_socket *s);

/* Returns true once any server has accepted a connection. */
bool redis_socket_any_accepted(void);

#endif
