/*
 * loop: one epoll set, one timer heap, the time of this iteration.
 *
 * Everything the daemon does happens in a callback of this loop; there is no other thread to guard
 * against. An iteration waits, reads the time once, handles descriptors and timers, and then calls
 * the `iterate` function that main gave (HTTP, then the flush to Redis).
 */
#ifndef PATTERND_LOOP_H
#define PATTERND_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/container.h" /* from a watch or timer to its struct */

/* A descriptor that is watched: a member of another struct, unwatched before that is freed. */
struct loop_watch {
	int fd;
	void (*ready)(struct loop_watch *w, uint32_t events); /* EPOLL* bits; may unwatch and free itself */
};

/* All return false with errno set. `events` are EPOLL* bits, level-triggered without EPOLLET. */
bool loop_open(void);
void loop_close(void);
bool loop_watch(struct loop_watch *w, uint32_t events);
bool loop_rewatch(struct loop_watch *w, uint32_t events);
void loop_unwatch(struct loop_watch *w); /* the descriptor stays open */

/*
 * A member of another struct, stopped before that is freed. Moving it to a later time costs
 * nothing.
 */
struct loop_timer {
	void (*expired)(struct loop_timer *t);
	int64_t due_us; /* on the clock of loop_now_us; in `expired` it must be set later than now */
	int64_t key_us; /* its key in the heap; never after due_us */
	size_t slot;    /* in the heap, from 1; 0: not in it */
};

/* False without memory: the timer is then not set. */
bool loop_timer_set(struct loop_timer *t, int64_t due_us);
void loop_timer_stop(struct loop_timer *t);

static inline bool loop_timer_is_set(const struct loop_timer *t)
{
	return t->slot != 0;
}

/* The monotonic clock at the start of this iteration, in microseconds. */
int64_t loop_now_us(void);
/*
 * True when this iteration has taken 5 ms already: leave work that can wait to the next iteration.
 */
bool loop_iteration_is_long(void);
/* The wall clock as of now, Unix milliseconds: for logs and first guesses, never for a decision. */
int64_t loop_wall_ms(void);

/*
 * Runs until loop_stop. At the end of each iteration `iterate` does what is due and returns for how
 * many milliseconds the loop may wait at most (-1: any time).
 */
void loop_run(int64_t (*iterate)(void));
void loop_stop(void);

/*
 * An iteration of more than 20 ms is a stall: no client is served meanwhile. Its duration includes
 * the time in which other processes had the processors; longest_cpu_us does not, and is at most
 * 2 ms too high.
 */
struct loop_stats {
	uint64_t stalls;
	int64_t stall_us; /* of all stalls */
	int64_t longest_us, longest_cpu_us;
};
const struct loop_stats *loop_stats(void);

#endif
