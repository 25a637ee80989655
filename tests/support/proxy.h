/*
 * proxy: a TCP proxy that injects faults, between daemon and Redis or between client and daemon.
 *
 *	struct proxy *p = proxy_open(redis.port);
 *	daemon_start(&d, "--redis", proxy_url(p));
 *	proxy_set(p, (struct proxy_fault){ .delay_ms = 500 });
 *	...
 *	proxy_set(p, (struct proxy_fault){ 0 });           passes everything again
 *	proxy_close(p);
 *
 * "Up" is from the client to the server, "down" is back. Faults can be combined and changed while
 * connections are open; a change applies to bytes that are read afterwards. A change that would let
 * bytes pass after lost ones resets the connection (RST), so that no stream has a hole. The proxy
 * runs in a separate thread.
 */
#ifndef TEST_PROXY_H
#define TEST_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proxy_bytes {
	const char *at; /* (ref) until the next proxy_set */
	size_t len;
};
#define PROXY_BYTES(literal) ((struct proxy_bytes){ (literal), sizeof(literal) - 1 })

struct proxy_fault {
	bool refuse;             /* connecting is refused. Open connections stay */
	bool reset;              /* every connection that is open now ends with RST, new ones pass */
	int delay_ms;            /* each way */
	bool drop_up, drop_down; /* bytes vanish and nothing closes until the fault ends: a half-open link */
	bool hold_up;            /* bytes up are not read, so that the sender soon cannot write any more */
	bool cut;                /* requests pass; a connection closes when `cut_at` bytes of replies went down on it */
	size_t cut_at;           /* 0: the whole reply is lost, its effect is not */
	struct proxy_bytes cut_on; /* cut only connections on which a piece with these bytes went up, from then on */
	int cut_percent;           /* the percentage of such pieces that count */
	struct proxy_bytes answer; /* nothing goes up: each command that arrives is answered with these bytes */
	struct proxy_bytes before; /* put before the next reply of each connection */
	struct proxy_bytes after;  /* put after that reply */
	size_t slice;              /* bytes that are sent at a time, at most */
	size_t bytes_per_second;   /* each way */
};

struct proxy_counts {
	uint64_t connections;          /* accepted so far */
	uint64_t open;                 /* now */
	uint64_t bytes_up, bytes_down; /* that arrived from each side */
};

struct proxy;

/* Opens a proxy to a port of the loopback. */
struct proxy *proxy_open(int to_port);
void proxy_close(struct proxy *p);

int proxy_port(const struct proxy *p);
const char *proxy_url(const struct proxy *p); /* redis://127.0.0.1:PORT/0 */

/* Returns when the fault is in force. */
void proxy_set(struct proxy *p, struct proxy_fault fault);
struct proxy_counts proxy_count(struct proxy *p);

/* Sends bytes down all open connections now, without a request. */
void proxy_inject(struct proxy *p, struct proxy_bytes bytes);

#endif
