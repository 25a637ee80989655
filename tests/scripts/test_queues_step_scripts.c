/*
 * How many bytes one step of a purge or redrive handles, on a real Redis. Without that bound a step
 * would hold Redis while it frees all bodies of a queue.
 */
#include <inttypes.h>

#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

/* Five of these bodies exceed 4 MiB. A step counts their lengths without reading them. */
enum { BODY_BYTES = 1000000, SENT = 12, MOST_AT_ONCE = 5 };

static void send_large(struct outgoing m)
{
	char *body = calloc(1, BODY_BYTES + 1);

	memset(body, '1', BODY_BYTES);
	m.body = body;
	for (int i = 0; i < SENT; i++)
		assert_int_equal(queue_message_send(&r, "q", m), 1);
	free(body);
}

static void reject_all(void)
{
	for (int i = 0; i < SENT; i++) {
		assert_int_equal(queue_message_receive(&r, "q", 1, 30000, NONCE_A), 1);
		char *receipt = strdup(received(&r, 0, RECEIVED_RECEIPT)->str);
		assert_int_equal(queue_delivery_reject(&r, "q", receipt, -1, "bad", true), 1);
		free(receipt);
	}
}

/* Calls a script of a group, or of the whole queue if `group` is NULL, until it has finished. */
static void takes_steps(const struct script *s, const char *group, const char *what)
{
	char total[24] = "0", cursor[256] = "";
	int64_t before;

	bool is_last;

	do {
		before = atoll(total);
		run(&r, s, queue_keys("q"), group ? ARGS(group, what, cursor, total) : ARGS(what, total));
		is_last = outcome(&r) != QUEUE_PURGE_SETTLED && outcome(&r) != QUEUE_PURGE_MORE;
		bool has_cursor = group && !is_last; /* a redrive has the items of a purge */
		snprintf(total, sizeof(total), "%" PRId64,
			 item_int(&r, has_cursor ? QUEUE_GROUP_PURGE_SO_FAR : QUEUE_STEP_TOTAL));
		if (has_cursor)
			snprintf(cursor, sizeof(cursor), "%s", item_text(&r, QUEUE_GROUP_PURGE_CURSOR));
		assert_in_range(atoll(total) - before, 0, MOST_AT_ONCE);
	} while (!is_last);
	assert_int_equal(outcome(&r), QUEUE_PURGE_FINISHED);
	assert_int_equal(atoll(total), SENT);
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

TEST(a_purge_of_delayed_messages)
{
	send_large((struct outgoing){ .delay_ms = 60000 });
	takes_steps(&queue_purge_script, NULL, "delayed");
}

TEST(a_purge_of_dead_letters)
{
	send_large((struct outgoing){ 0 });
	reject_all();
	takes_steps(&queue_purge_script, NULL, "dead");
}

TEST(a_purge_of_a_group)
{
	send_large((struct outgoing){ .group = "g", .delay_ms = 60000 });
	takes_steps(&queue_group_purge_script, "g", "delayed");
	send_large((struct outgoing){ .group = "g" });
	takes_steps(&queue_group_purge_script, "g", "");
}

TEST(a_redrive_of_a_group)
{
	send_large((struct outgoing){ .group = "g" });
	reject_all();
	takes_steps(&queue_group_redrive_script, "g", "-1");
}
