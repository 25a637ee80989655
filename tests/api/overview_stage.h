/*
 * overview_stage: what the tests of GET /overview share: a Redis whose clock only tests move, a
 * daemon whose time may leap, a client, and findings. A test program includes it once.
 */
#ifndef OVERVIEW_STAGE_H
#define OVERVIEW_STAGE_H

#include "../support/leap.h"
#include "../support/redis_clock.h"
#include "api_stage.h"

enum { SOON_MS = 8000, SHARED_S = 11 };

static volatile int64_t *redis_clock_us; /* Redis's clock, which moves only when a test changes it */
static int64_t seen_at_ms;

static inline struct answer overview(void)
{
	struct answer a = http(client, "GET", "/overview", NULL);

	assert_status(a, 200);
	return a;
}

static inline bool is_new(struct answer *a)
{
	*a = overview();
	return int_at(*a, "/at_ms") != seen_at_ms;
}

/* An overview that the daemon began after this call. */
static inline struct answer look(void)
{
	struct answer a;

	seen_at_ms = int_at(overview(), "/at_ms");
	/* With a sanitizer, leap() sleeps. The loop below mostly waits for a shorter time. */
	if (!daemon_is_sanitized())
		leap(&patternd, SHARED_S);
	nap_ms(2); /* at_ms is by a clock that does not leap */
	wait_until(is_new(&a), 2 * SHARED_S * 1000);
	return a;
}

/* The first finding of a kind; NULL without one. */
static inline const json_t *finding(struct answer a, const char *kind)
{
	return json_item(a, "/findings", "kind", kind);
}

/* How many findings there are, without the clock of this Redis, which only tests move. */
static inline int64_t found(struct answer a)
{
	return int_at(a, "/finding_count") - (finding(a, "clock_off") != NULL);
}

static inline int64_t number(const json_t *finding, const char *member)
{
	assert_non_null(finding);
	assert_true(json_is_integer(json_object_get(finding, member)));
	return json_integer_value(json_object_get(finding, member));
}

static inline void assert_text(const json_t *finding, const char *member, const char *wanted)
{
	assert_non_null(finding);
	assert_string_equal(json_string_value(json_object_get(finding, member)), wanted);
}

static inline void assert_detail(const json_t *finding, const char *wanted)
{
	assert_text(finding, "detail", wanted);
}

static inline void done(const char *method, const char *target, const char *body)
{
	struct answer a = http(client, method, target, body);

	assert_true(a.status >= 200 && a.status <= 204);
}

static inline int start(void **state)
{
	redis_clock_us = server_start_by_clock(&redis, INT64_C(1795219450378000));
	may_leap(&patternd);
	daemon_start(&patternd, "--redis", redis.url, "--metrics-names", ""); /* a scrape must not look at Redis */
	client = client_open(patternd.port);
	return 0;
}

#endif
