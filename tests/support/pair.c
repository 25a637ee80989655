#include "pair.h"

#include "test.h"
#include "waiter.h"

enum { ANSWER_MS = 5000 };

struct pair pair;

void pair_restart(int i)
{
	client_close(pair.c[i]);
	daemon_start(&pair.d[i], "--redis", pair.redis.url);
	pair.c[i] = client_open(pair.d[i].port);
}

int pair_open(void **state)
{
	server_start(&pair.redis);
	pair_restart(0);
	pair_restart(1);
	return 0;
}

int pair_close(void **state)
{
	for (int i = 0; i < 2; i++) {
		client_close(pair.c[i]);
		daemon_stop(&pair.d[i]);
	}
	server_stop(&pair.redis);
	return 0;
}

static bool is_idle(int i)
{
	return waiting_at(&pair.d[i]) == 0 && metric_of(&pair.d[i], "http_requests_in_progress") == 1; /* this one */
}

static bool gets_idle(int i)
{
	int64_t until_ms = monotonic_ms() + patience_ms(ANSWER_MS);

	while (!is_idle(i) && monotonic_ms() < until_ms)
		nap_ms(2);
	return is_idle(i);
}

bool pair_reaches_redis(void)
{
	bool reached = true;

	for (int i = 0; i < 2; i++)
		reached = http(pair.c[i], "GET", "/locks/reached", NULL).status == 200 && reached;
	return reached;
}

int pair_forget(void **state)
{
	bool idle = true;

	for (int i = 0; i < 2; i++) {
		if (!pair.d[i].port) {
			pair_restart(i);
		} else if (!gets_idle(i)) { /* a test that failed left something open, or the daemon hangs */
			daemon_kill(&pair.d[i]);
			pair_restart(i);
			idle = false;
		}
	}
	wait_until(pair_reaches_redis(), ANSWER_MS);
	server_command(&pair.redis, "FLUSHALL");
	if (!idle)
		print_error("requests were under way after the test\n");
	return idle ? 0 : -1;
}

struct raw *pair_ask(int i, const char *target, const char *body, const char *headers)
{
	return waiter_at(&pair.d[i], target, body, headers);
}

struct answer pair_answer(struct raw *r, const char *target)
{
	struct answer a = waiter_answer(r, target, ANSWER_MS);

	if (a.status == 0)
		fail_msg("POST %s: %s", target, a.error);
	return a;
}

bool pair_waits(const struct raw *r)
{
	return !waiter_is_answered(r);
}

int64_t pair_number(const char *target, const char *pointer)
{
	return int_at(http(pair.c[0], "GET", target, NULL), pointer);
}
