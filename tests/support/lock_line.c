#include "lock_line.h"

#include "test.h"

enum { STAND_MS = 5000 };

char line_token[64];

static void keep_token(struct answer a)
{
	assert_status(a, 201);
	snprintf(line_token, sizeof(line_token), "%s", text_at(a, "/token"));
}

struct answer line_take(int i, const char *body)
{
	return http(pair.c[i], "POST", LOCK_A, body);
}

void line_hold(const char *body)
{
	keep_token(line_take(0, body));
}

void line_release(int i)
{
	char header[128];

	snprintf(header, sizeof(header), "Lock-Token: %s", line_token);
	assert_status(http(pair.c[i], "DELETE", LOCK_A, NULL, header), 200);
}

int64_t line_waiters(void)
{
	return pair_number(LOCK_A, "/waiter_count");
}

struct raw *line_join_with(int i, const char *body)
{
	int64_t before = line_waiters();
	struct raw *r = pair_ask(i, LOCK_A, body, "");

	wait_until(line_waiters() == before + 1, STAND_MS);
	return r;
}

struct raw *line_join(int i)
{
	return line_join_with(i, "{\"wait_ms\":20000,\"ttl_ms\":60000}");
}

void line_served(struct raw *r)
{
	keep_token(pair_answer(r, LOCK_A));
	raw_close(r);
}
