/*
 * Tests of timers: each fires once, in order, never early and never after a stop. A callback may
 * stop, set and free timers.
 */
#include "core/loop.h"
#include "test.h"

enum { MS = 1000, MANY = 2000 };

static int fired, fired_before_end;
static int64_t last_due_us;

static int open_loop(void **state)
{
	fired = 0;
	last_due_us = 0;
	return loop_open() ? 0 : -1;
}

static int close_loop(void **state)
{
	loop_close();
	return 0;
}

static int64_t no_turn(void)
{
	return -1;
}

static void stop_loop(struct loop_timer *t)
{
	(void)t;
	fired_before_end = fired;
	loop_stop();
}

/* Runs the loop until `ms` from now. */
static void run_for(int64_t ms)
{
	struct loop_timer end = { .expired = stop_loop };

	assert_true(loop_timer_set(&end, loop_now_us() + ms * MS));
	loop_run(no_turn);
	loop_timer_stop(&end);
}

/* A timer that knows when it may fire. */
struct probe {
	struct loop_timer timer;
	int64_t due_us; /* 0: never */
	int times;
};

static void probe_fired(struct loop_timer *t)
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
	assert_true(loop_timer_set(&p->timer, due_us));
}

static void stop(struct probe *p)
{
	p->due_us = 0;
	loop_timer_stop(&p->timer);
}

static void fired_in_order(struct loop_timer *t)
{
	struct probe *p = (struct probe *)t;

	probe_fired(t);
	assert_true(p->due_us >= last_due_us);
	last_due_us = p->due_us;
}

SUITE(.before = open_loop, .after = close_loop);

TEST(many_fire_in_order)
{
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

/*
 * Timers are set, moved, stopped and set again at random. Each fires once if it was set last, and
 * not before its time.
 */
TEST(many_that_are_moved)
{
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
	assert_int_equal(fired_before_end, wanted); /* all were due before the end */
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(probes[i].times, probes[i].due_us != 0);
		assert_int_equal(probes[i].timer.slot, 0);
	}
}

TEST(later_earlier_and_never)
{
	struct probe later = { 0 }, earlier = { 0 }, never = { 0 }, past = { 0 };
	int64_t now = loop_now_us();

	set(&later, now + 5 * MS);
	set(&later, now + 20 * MS);
	set(&later, now + 15 * MS); /* between the two; the heap still has it at the place for 5 ms */
	set(&earlier, now + 3600 * 1000 * (int64_t)MS);
	set(&earlier, now + 5 * MS);
	set(&never, now + 7200 * 1000 * (int64_t)MS);
	set(&never, now + 5 * MS);
	stop(&never);
	stop(&never); /* a second stop does nothing */
	set(&past, now - 1);
	run_for(10);
	assert_int_equal(earlier.times, 1);
	assert_int_equal(past.times, 1);
	run_for(10);
	assert_int_equal(later.times, 1);
	run_for(5);
	assert_int_equal(fired, 3);
	/* A timer moves to the front of timers with long times. */
	set(&never, loop_now_us() + 3600 * 1000 * (int64_t)MS);
	set(&later, loop_now_us() + 7200 * 1000 * (int64_t)MS);
	set(&earlier, loop_now_us() + 7200 * 1000 * (int64_t)MS);
	set(&earlier, loop_now_us() + 2 * MS);
	run_for(3);
	assert_int_equal(fired_before_end, 4);
	stop(&never);
	stop(&later);
}

/* ---- What a timer's callback may do ---- */

static struct loop_timer *victim;

static void stop_victim(struct loop_timer *t)
{
	fired++;
	loop_timer_stop(victim);
	free(victim);
	victim = NULL;
	free(t);
}

static void must_not_fire(struct loop_timer *t)
{
	(void)t;
	fail_msg("fired after it was stopped");
}

TEST(stop_and_free_inside_a_callback)
{
	struct loop_timer *first = calloc(1, sizeof(*first));

	victim = calloc(1, sizeof(*victim));
	first->expired = stop_victim;
	victim->expired = must_not_fire;
	/* Both are due in the same iteration, the victim right after the first. */
	assert_true(loop_timer_set(first, loop_now_us() + 1));
	assert_true(loop_timer_set(victim, loop_now_us() + 2));
	run_for(3);
	assert_int_equal(fired, 1);
}

static void set_again(struct loop_timer *t)
{
	if (++fired < 4)
		loop_timer_set(t, loop_now_us() + MS);
	else
		loop_stop();
}

TEST(set_inside_a_callback)
{
	struct loop_timer t = { .expired = set_again };

	assert_true(loop_timer_set(&t, loop_now_us() + MS));
	run_for(5000); /* or until it has fired four times */
	assert_int_equal(fired, 4);
	assert_int_equal(t.slot, 0);
}
