/*
 * Retry-After is honest (P11 of tests/PROMISES.md). Thousands of callers (PATTERND_FULL: ten
 * thousand), each alone with its key, wait exactly retry_after_ms; all are admitted. A caller that
 * does not wait is refused.
 */
#include "../support/stage.h"
#include "../support/stride.h"
#include "test.h"

enum { CALLERS = 700, ROUNDS_IN_FULL = 5, REFUSED_MAX_PER_1000 = 1 };

struct caller {
	char body[160];
	int64_t due_us; /* when the caller may ask again, by retry_after_ms */
};

static struct caller callers[CALLERS];

static int by_due(const void *a, const void *b)
{
	const struct caller *x = a, *y = b;

	return (x->due_us > y->due_us) - (x->due_us < y->due_us);
}

/* Uses up the limit. Retry-After must then be retry_after_ms, rounded up to whole seconds. */
static void spend(struct caller *c, const char *algorithm, int i)
{
	snprintf(c->body, sizeof(c->body),
		 "{\"key\":\"%s-%d\",\"algorithm\":\"%s\",\"limit\":%d,\"window_ms\":%d,\"cost\":%d}", algorithm, i,
		 algorithm, 1 + i % 7, 600 + i * 7 % 900, 1 + i % 7 / 2);
	struct answer a = post("/ratelimit", c->body);
	while (a.status == 200)
		a = post("/ratelimit", c->body);
	c->due_us = monotonic_us();
	assert_problem(a, 429, "rate_limited", "none");
	int64_t wait_ms = int_at(a, "/retry_after_ms");
	assert_in_range(wait_ms, 1, 1500);
	assert_int_equal(atoi(header_of(a, "Retry-After")), (wait_ms + 999) / 1000);
	c->due_us += wait_ms * 1000;
}

/* Returns how many of `count` callers were refused a second time. */
static int wait_retry_after(const char *algorithm, int count)
{
	int refused = 0;

	for (int i = 0; i < count; i++) {
		spend(&callers[i], algorithm, i);
		client_forget(client);
	}
	qsort(callers, (size_t)count, sizeof(callers[0]), by_due);
	for (int i = 0; i < count; i++) {
		while (monotonic_us() < callers[i].due_us)
			nap_ms(1);
		refused += post("/ratelimit", callers[i].body).status != 200;
		client_forget(client);
	}
	stage_forget(NULL);
	return refused;
}

static void callers_that_wait_are_admitted(const char *algorithm)
{
	const int rounds = in_full() ? ROUNDS_IN_FULL : 1, count = CALLERS / stride();
	int refused = 0;

	for (int i = 0; i < rounds; i++)
		refused += wait_retry_after(algorithm, count);
	print_message("%s: %d of %d callers were refused\n", algorithm, refused, rounds * count);
	assert_in_range(refused * 1000, 0, REFUSED_MAX_PER_1000 * rounds * count);
}

TEST(callers_of_gcra_are_admitted)
{
	callers_that_wait_are_admitted("gcra");
}

TEST(callers_of_a_sliding_window_are_admitted)
{
	callers_that_wait_are_admitted("sliding_window");
}

TEST(callers_of_a_fixed_window_are_admitted)
{
	callers_that_wait_are_admitted("fixed_window");
}

SUITE(.open = stage_open, .close = stage_close);
