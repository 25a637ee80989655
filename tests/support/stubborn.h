/*
 * stubborn: a peer that is not Redis. It listens, sends what its manner defines, and does not parse
 * what it receives.
 *
 *	struct stubborn *s = stubborn_open(&(struct stubborn_manner){ .greeting = "SSH-2.0-x" });
 *	daemon_launch(&d, "--redis", stubborn_url(s));
 *	wait_until(stubborn_connections(s) > 0, 5000);
 *	stubborn_close(s);
 */
#ifndef TEST_STUBBORN_H
#define TEST_STUBBORN_H

#include <stddef.h>
#include <stdint.h>

struct stubborn_manner {
	const char *name;
	const char *greeting; /* sent to each connection at once; NULL: nothing */
	const char *answer;   /* sent for each piece that arrives; NULL: nothing */
	size_t times;         /* how often the answer is repeated; 0 is once, SIZE_MAX has no end */
};

struct stubborn;

/* Borrows `m` until stubborn_close. The peer runs in its own thread. */
struct stubborn *stubborn_open(const struct stubborn_manner *m);
void stubborn_close(struct stubborn *s);

int stubborn_port(const struct stubborn *s);
const char *stubborn_url(const struct stubborn *s);

/* How many connections were accepted so far. */
uint64_t stubborn_connections(const struct stubborn *s);

#endif
