/*
 * loop: one epoll set, one timer heap, the time of this iteration. It must not know HTTP, Redis or
 * requests.
 *
 * Everything that the daemon does happens in a callback of this loop; there is no other thread to
 * guard against. An iteration waits, reads the time once, handles descriptors and timers, and then
 * calls the `iterate` function of main (HTTP, then the flush to Redis).
 */
#ifndef PATTERND_LOOP_H
#define PATTERND_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/container.h" /* finds the struct of a watch or a timer */

/* A watched descriptor, as a member of another struct. Unwatch it before that struct is freed. */
struct loop_watch {
	int fd;
	void (*ready)(struct loop_watch *w, uint32_t events); /* EPOLL* bits; may unwatch and free itself */
};

/* These return false with errno set. `events` are EPOLL* bits, level-triggered without EPOLLET. */
bool loop_open(void);
void loop_close(void);
bool loop_watch(struct loop_watch *w, uint32_t events);
bool loop_rewatch(struct loop_watch *w, uint32_t events);
void loop_unwatch(struct loop_watch *w); /* the descriptor stays open */

/*
 * A timer, as a member of another struct. Stop it before that struct is freed. Moving it to a later
 * time costs nothing.
 */
struct loop_timer {
	void (*expired)(struct loop_timer *t);
	int64_t due_us; /* on the clock of loop_now_us; `expired` may only set it later than now */
	int64_t key_us; /* its key in the heap; never after due_us */
	size_t slot;    /* index in the heap, from 1; 0: it is not set */
};

/*
 * Sets the timer. False: memory ran out, and the timer is not set. A timer that is set already
 * cannot fail.
 */
bool loop_timer_set(struct loop_timer *t, int64_t due_us);
void loop_timer_stop(struct loop_timer *t);

static inline bool loop_timer_is_set(const struct loop_timer *t)
{
	return t->slot != 0;
}

/* Returns the monotonic clock at the start of this iteration, in microseconds. */
int64_t loop_now_us(void);
/*
 * Returns true when this iteration has taken 5 ms already: leave work that can wait to the next
 * one.
 */
bool loop_iteration_is_long(void);
/*
 * Returns the wall clock in Unix milliseconds, read now. It is for logs and first guesses, never
 * for a decision.
 */
int64_t loop_wall_ms(void);

/*
 * Runs until loop_stop. At the end of each iteration, `iterate` does what is due. It returns how
 * many milliseconds the loop may wait, or -1 for no limit.
 */
void loop_run(int64_t (*iterate)(void));
void loop_stop(void);

/*
 * An iteration of more than 20 ms is a stall: the daemon serves no client during it. Durations
 * include the time in which other processes had the processors. longest_cpu_us does not, and is at
 * most 2 ms too high.
 */
struct loop_stats {
	uint64_t stalls;
	int64_t stall_us; /* total of all stalls */
	int64_t longest_us, longest_cpu_us;
};
const struct loop_stats *loop_stats(void);

#endif
