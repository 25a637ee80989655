/*
 * gate: the sockets that clients come in by, and how many may be inside at once.
 *
 * While all places are taken, or the system has no descriptor left, the sockets are not watched: whoever comes waits in the backlog, and
 * nothing spins. Several addresses share one gate and its places.
 */
#ifndef PATTERND_GATE_H
#define PATTERND_GATE_H

#include <stdbool.h>

#include "core/loop.h"
#include "net/listener.h"

struct gate;

/* One of its sockets. */
struct gate_way {
	struct listener listener;
	struct watch watch;
	struct gate *gate;
};

struct gate {
	/* Set before gate_open. */
	unsigned most; /* clients inside at once */
	/* Somebody came in: takes the descriptor. Calls gate_entered when he stays. */
	void (*enter)(const struct listener *by, int fd);
	void (*crowded)(struct gate *g); /* somebody waits, and all places are taken; may be NULL */

	struct gate_way ways[LISTEN_ADDRESSES_MAX];
	size_t count;
	unsigned inside;
	bool shut;          /* nobody is let in just now */
	bool told;          /* that accept fails: once, until it works again */
	struct timer retry; /* without descriptors, and nobody to give one back */
};

/* Opens every address of `list`. False after one line on stderr that names `option`. */
bool gate_open(struct gate *g, const char *option, const char *list, mode_t mode);

/* Nobody comes in any more; those inside stay. */
void gate_close(struct gate *g);

void gate_entered(struct gate *g);
void gate_left(struct gate *g);

#endif
