/*
 * Tests of the event loop: descriptors that become ready, callbacks that remove other descriptors,
 * iterations, and signals between iterations.
 */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../support/proc.h"
#include "core/loop.h"
#include "test.h"

enum { MS = 1000 };

static int fired, iterations;

static int open_loop(void **state)
{
	fired = iterations = 0;
	return loop_open() ? 0 : -1;
}

static int close_loop(void **state)
{
	loop_close();
	return 0;
}

static int64_t no_iteration(void)
{
	return -1;
}

static void stop_loop(struct loop_timer *t)
{
	(void)t;
	loop_stop();
}

/* Runs the loop until `ms` from now. */
static void run_for(int64_t ms)
{
	struct loop_timer end = { .expired = stop_loop };

	assert_true(loop_timer_set(&end, loop_now_us() + ms * MS));
	loop_run(no_iteration);
	loop_timer_stop(&end);
}

struct event_watch {
	struct loop_watch watch;
	struct event_watch *other; /* to be unwatched and freed when this one is ready; NULL: only count */
	int times;
};

static void on_event(struct loop_watch *w, uint32_t events)
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

SUITE(.before = open_loop, .after = close_loop);

/*
 * Both descriptors are ready in one iteration. The callback that runs first removes the other one,
 * which must not run any more.
 */
TEST(unwatch_another_inside_a_callback)
{
	struct event_watch *one = ready_watch(), *two = ready_watch();

	one->other = two;
	two->other = one;
	run_for(3);
	assert_int_equal(fired, 1);
}

TEST(watching_and_not)
{
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

/* ---- Iterations ---- */

static int64_t count_iterations(void)
{
	if (++iterations == 5)
		loop_stop();
	return 1;
}

TEST(iterations_come_when_asked_for)
{
	int64_t before = loop_now_us();

	loop_run(count_iterations);
	assert_int_equal(iterations, 5);
	assert_true(loop_now_us() >= before + 3 * MS);
}

static int64_t stall_once(void)
{
	if (++iterations == 2)
		nap_ms(30);
	if (iterations == 3)
		loop_stop();
	return 1;
}

static int64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000) + t.tv_nsec / 1000;
}

static int64_t work_once(void)
{
	int64_t end_ms = loop_wall_ms() + 60, end_us = cpu_us() + 5 * MS;

	if (++iterations == 2)
		while (loop_wall_ms() < end_ms || cpu_us() < end_us)
			;
	if (iterations == 3)
		loop_stop();
	return 1;
}

TEST(a_long_iteration_is_counted)
{
	struct loop_stats before = *loop_stats();

	loop_run(stall_once);
	assert_in_range(loop_stats()->longest_us, 30 * MS, INT64_MAX);
	assert_in_range(loop_stats()->stalls, before.stalls + 1, before.stalls + 3);
	assert_in_range(loop_stats()->stall_us, before.stall_us + 30 * MS, INT64_MAX);
	assert_in_range(loop_stats()->longest_cpu_us, 0, 20 * MS); /* it slept */

	iterations = 0;
	loop_run(work_once);
	assert_in_range(loop_stats()->longest_us, 59 * MS, INT64_MAX);
	assert_in_range(loop_stats()->longest_cpu_us, 2 * MS, 100 * MS); /* the rest belongs to other processes */
}

static void on_alarm(int number)
{
	(void)number;
}

TEST(a_signal_is_not_an_event)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerval soon = { .it_value.tv_usec = 2 * MS };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	run_for(5);
	assert_true(loop_wall_ms() > INT64_C(1700000000000));
}
