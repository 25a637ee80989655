/*
 * loop: one epoll set, one timer heap, the time of this turn.
 *
 * Everything the daemon does happens in a callback of this loop; there is no other thread to guard against. A turn is:
 * wait, read the time once, descriptors, timers, then the `turn` function that main gave (HTTP, then the flush to Redis).
 */
#ifndef PATTERND_LOOP_H
#define PATTERND_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/container.h" /* for the owners of watches and timers */

/* A descriptor that is watched. Lives inside its owner; must be unwatched before it goes. */
struct watch {
	int fd;
	void (*ready)(struct watch *w, uint32_t events); /* EPOLL* bits; may unwatch and free itself */
};

/* All return false with errno set. `events` are EPOLL* bits, level-triggered unless EPOLLET is among them. */
bool loop_open(void);
void loop_close(void);
bool loop_watch(struct watch *w, uint32_t events);
bool loop_rewatch(struct watch *w, uint32_t events);
void loop_unwatch(struct watch *w); /* the descriptor stays open */

/* A timer. Lives inside its owner; must be stopped before it goes. Setting it later than before costs nothing. */
struct timer {
	void (*expired)(struct timer *t);
	int64_t due_us; /* when it is wanted, on the clock of loop_now_us; later than now when set in its own `expired` */
	int64_t key_us; /* when the heap looks at it; never after due_us */
	size_t place;   /* in the heap, from 1; 0 = not there */
};

/* False without memory: the timer is then not set. */
bool timer_set(struct timer *t, int64_t due_us);
void timer_stop(struct timer *t);

/* The monotonic clock as of this turn, in microseconds. */
int64_t loop_now_us(void);
/* It has taken 5 ms already: what can wait is left to the next. */
bool loop_turn_is_long(void);
/* The wall clock as of now, Unix milliseconds: for logs and first guesses, never for a decision. */
int64_t loop_wall_ms(void);

/*
 * Runs until loop_stop. After descriptors and timers of each turn, `turn` does what is due and returns how many
 * milliseconds it can wait at most (-1: any time).
 */
void loop_run(int64_t (*turn)(void));
void loop_stop(void);

/*
 * While a turn goes on nobody else is served; one of more than 20 ms is a stall. Time that the system gave to others counts,
 * since clients wait for that, too; it is not in what the longest has worked.
 */
struct loop_turns {
	uint64_t stalls;
	int64_t stall_us; /* all of them together */
	int64_t longest_us, longest_cpu_us;
};
const struct loop_turns *loop_turns(void);

#endif
