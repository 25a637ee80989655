/* Semaphores over HTTP: their wait queue. */
#include "../support/proc.h"
#include "../support/raw.h"
#include "../support/stage.h"
#include "../support/waiter.h"
#include "test.h"

enum { SOON_MS = 5000 };

#define PERMITS "/semaphores/s/permits"

static struct answer release(const char *permit)
{
	char target[128];

	snprintf(target, sizeof(target), PERMITS "/%s", permit);
	return http(client, "DELETE", target, NULL);
}

/* Adds a waiter; `count` clients wait then. */
static struct raw *queue_up(int count)
{
	struct raw *r = waiter_at(&patternd, PERMITS, "{\"limit\":1,\"wait_ms\":30000}", "");

	wait_until(int_at(get("/semaphores/s"), "/waiter_count") == count, SOON_MS);
	return r;
}

SUITE(.open = stage_open, .close = stage_close, .after = stage_forget);

TEST(a_client_that_leaves_is_out_of_the_queue)
{
	struct answer a = post(PERMITS, "{\"limit\":1}");
	struct raw *first = queue_up(1), *second = queue_up(2);
	raw_reset(first);
	wait_until(int_at(get("/semaphores/s"), "/waiter_count") == 1, SOON_MS);
	release(text_at(a, "/permit"));
	assert_status(raw_answer(second, SOON_MS), 201);
	raw_close(second);
}
