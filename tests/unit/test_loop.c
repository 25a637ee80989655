/* Loop: timers fire once, in order, never early and never after a stop; callbacks may stop, set, unwatch and free. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "loop.h"

enum { MS = 1000, MANY = 2000 };

static int fired, turns;
static int64_t last_due_us;

static int open_loop(void **state)
{
	(void)state;
	fired = turns = 0;
	last_due_us = 0;
	return loop_open() ? 0 : -1;
}

static int close_loop(void **state)
{
	(void)state;
	loop_close();
	return 0;
}

static int64_t no_turn(void)
{
	return -1;
}

static void stop_loop(struct timer *t)
{
	(void)t;
	loop_stop();
}

/* Runs the loop until `ms` from now. */
static void run_for(int64_t ms)
{
	struct timer end = { .expired = stop_loop };

	assert_true(timer_set(&end, loop_now_us() + ms * MS));
	loop_run(no_turn);
	timer_stop(&end);
}

/* A timer that knows when it may fire. */
struct probe {
	struct timer timer;
	int64_t due_us; /* 0: never */
	int times;
};

static void probe_fired(struct timer *t)
{
	struct probe *p = (struct probe *)t;

	if (p->due_us == 0 || loop_now_us() < p->due_us)
		fail_msg("fired at %lld, wanted at %lld", (long long)loop_now_us(), (long long)p->due_us);
	p->times++;
	fired++;
}

static void set(struct probe *p, int64_t due_us)
{
	p->timer.expired = probe_fired;
	p->due_us = due_us;
	assert_true(timer_set(&p->timer, due_us));
}

static void stop(struct probe *p)
{
	p->due_us = 0;
	timer_stop(&p->timer);
}

static void fired_in_order(struct timer *t)
{
	struct probe *p = (struct probe *)t;

	probe_fired(t);
	assert_true(p->due_us >= last_due_us);
	last_due_us = p->due_us;
}

static void many_fire_in_order(void **state)
{
	(void)state;
	static struct probe probes[MANY];

	srand(5);
	memset(probes, 0, sizeof(probes));
	for (int i = 0; i < MANY; i++) {
		set(&probes[i], loop_now_us() + rand() % (20 * MS));
		probes[i].timer.expired = fired_in_order;
	}
	run_for(25);
	assert_int_equal(fired, MANY);
}

/* Set, set again earlier or later, stopped, set again: each fires once if it was last set, and not before that. */
static void many_that_are_moved(void **state)
{
	(void)state;
	static struct probe probes[MANY];
	int wanted = 0;

	srand(6);
	memset(probes, 0, sizeof(probes));
	for (int i = 0; i < 10 * MANY; i++) {
		struct probe *p = &probes[rand() % MANY];
		if (rand() % 4 == 0)
			stop(p);
		else
			set(p, loop_now_us() + 1 + rand() % (20 * MS));
	}
	for (int i = 0; i < MANY; i++)
		wanted += probes[i].due_us != 0;
	assert_true(wanted > MANY / 2 && wanted < MANY);
	run_for(25);
	assert_int_equal(fired, wanted);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(probes[i].times, probes[i].due_us != 0);
		assert_int_equal(probes[i].timer.place, 0);
	}
}

static void later_earlier_and_never(void **state)
{
	(void)state;
	struct probe later = { 0 }, earlier = { 0 }, never = { 0 }, past = { 0 };
	int64_t now = loop_now_us();

	set(&later, now + 5 * MS);
	set(&later, now + 20 * MS);
	set(&later, now + 15 * MS); /* between: the heap looks at 5 still */
	set(&earlier, now + 3600 * 1000 * (int64_t)MS);
	set(&earlier, now + 5 * MS);
	set(&never, now + 5 * MS);
	stop(&never);
	stop(&never); /* twice is nothing */
	set(&past, now - 1);
	run_for(10);
	assert_int_equal(earlier.times, 1);
	assert_int_equal(past.times, 1);
	run_for(10);
	assert_int_equal(later.times, 1);
	run_for(5);
	assert_int_equal(fired, 3);
}

/* ---- What a timer's callback may do ---- */

static struct timer *victim;

static void stop_victim(struct timer *t)
{
	fired++;
	timer_stop(victim);
	free(victim);
	victim = NULL;
	free(t);
}

static void must_not_fire(struct timer *t)
{
	(void)t;
	fail_msg("fired after it was stopped");
}

static void stop_and_free_inside_a_callback(void **state)
{
	(void)state;
	struct timer *first = calloc(1, sizeof(*first));

	victim = calloc(1, sizeof(*victim));
	first->expired = stop_victim;
	victim->expired = must_not_fire;
	/* Due in the same turn, the victim right behind. */
	assert_true(timer_set(first, loop_now_us() + 1));
	assert_true(timer_set(victim, loop_now_us() + 2));
	run_for(3);
	assert_int_equal(fired, 1);
}

static void set_again(struct timer *t)
{
	if (++fired < 4)
		timer_set(t, loop_now_us() + MS);
	else
		loop_stop();
}

static void set_inside_a_callback(void **state)
{
	(void)state;
	struct timer t = { .expired = set_again };

	assert_true(timer_set(&t, loop_now_us() + MS));
	run_for(5000); /* or until it has fired four times */
	assert_int_equal(fired, 4);
	assert_int_equal(t.place, 0);
}

/* ---- Descriptors ---- */

struct event_watch {
	struct watch watch;
	struct event_watch *other; /* to be unwatched and freed when this one is ready; NULL: only count */
	int times;
};

static void on_event(struct watch *w, uint32_t events)
{
	struct event_watch *e = (struct event_watch *)w;
	uint64_t count;

	assert_true(events & EPOLLIN);
	assert_int_equal(read(w->fd, &count, sizeof(count)), sizeof(count));
	e->times++;
	fired++;
	if (!e->other)
		return;
	loop_unwatch(&e->other->watch);
	close(e->other->watch.fd);
	free(e->other);
	loop_unwatch(w); /* and itself */
	close(w->fd);
	free(e);
}

static struct event_watch *ready_watch(void)
{
	struct event_watch *e = calloc(1, sizeof(*e));

	e->watch.fd = eventfd(1, EFD_CLOEXEC);
	e->watch.ready = on_event;
	assert_true(loop_watch(&e->watch, EPOLLIN));
	return e;
}

/* Both are ready in one turn: whichever comes first takes the other away, which must not be called any more. */
static void unwatch_another_inside_a_callback(void **state)
{
	(void)state;
	struct event_watch *one = ready_watch(), *two = ready_watch();

	one->other = two;
	two->other = one;
	run_for(3);
	assert_int_equal(fired, 1);
}

static void watching_and_not(void **state)
{
	(void)state;
	struct event_watch *e = ready_watch();
	uint64_t one = 1;

	run_for(2);
	assert_int_equal(e->times, 1);
	assert_true(loop_rewatch(&e->watch, 0));
	assert_int_equal(write(e->watch.fd, &one, sizeof(one)), sizeof(one));
	run_for(2);
	assert_int_equal(e->times, 1);
	assert_true(loop_rewatch(&e->watch, EPOLLIN));
	run_for(2);
	assert_int_equal(e->times, 2);
	errno = 0;
	assert_false(loop_watch(&e->watch, EPOLLIN)); /* twice */
	assert_int_equal(errno, EEXIST);
	loop_unwatch(&e->watch);
	assert_false(loop_rewatch(&e->watch, EPOLLIN));
	assert_int_equal(errno, ENOENT);
	close(e->watch.fd); /* stayed open until here */
	assert_false(loop_watch(&e->watch, EPOLLIN));
	assert_int_equal(errno, EBADF);
	free(e);
}

/* ---- Turns ---- */

static int64_t count_turns(void)
{
	if (++turns == 5)
		loop_stop();
	return 1;
}

static void turns_come_when_they_asked_for_it(void **state)
{
	(void)state;
	int64_t before = loop_now_us();

	loop_run(count_turns);
	assert_int_equal(turns, 5);
	assert_true(loop_now_us() >= before + 3 * MS);
}

static void on_alarm(int number)
{
	(void)number;
}

static void a_signal_is_no_event(void **state)
{
	(void)state;
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval soon = { .it_value.tv_usec = 2 * MS };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	run_for(5);
	assert_true(loop_wall_ms() > INT64_C(1700000000000));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_loop, close_loop)
	const struct CMUnitTest tests[] = {
		TEST(many_fire_in_order), TEST(many_that_are_moved), TEST(later_earlier_and_never),
		TEST(stop_and_free_inside_a_callback), TEST(set_inside_a_callback), TEST(unwatch_another_inside_a_callback),
		TEST(watching_and_not), TEST(turns_come_when_they_asked_for_it), TEST(a_signal_is_no_event),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
