/*
 * Dead letters that are redriven at intervals, or into another queue. (test_queues_admin_scripts.c
 * redrives all at once, into their own queue.) The test sets Redis's clock.
 */
#include <inttypes.h>

#include "line_look.h"
#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

enum { MINUTE_MS = 60000 };

static int64_t now_ms(void)
{
	return *script_clock_us / 1000;
}

/* Makes a dead letter of q. */
static void make_dead(struct outgoing m)
{
	char receipt[64];

	assert_int_equal(queue_message_send(&r, "q", m), 1);
	assert_int_equal(queue_message_receive(&r, "q", 1, MINUTE_MS, NONCE_A), 1);
	snprintf(receipt, sizeof(receipt), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
	assert_int_equal(queue_delivery_reject(&r, "q", receipt, -1, "why", true), 1);
	*script_clock_us += 1000;
}

static void make_dead_many(int count, const char *body)
{
	static char ids[BATCH_MAX][16];
	struct outgoing batch[BATCH_MAX];
	static int number;

	for (int done = 0; done < count;) {
		int n = count - done < BATCH_MAX ? count - done : BATCH_MAX;
		for (int i = 0; i < n; i++) {
			snprintf(ids[i], sizeof(ids[0]), "m%05d", ++number);
			batch[i] = (struct outgoing){ .id = ids[i], .body = body, .max_receives = 1 };
		}
		queue_send_all(&r, "q", batch, (size_t)n);
		while (queue_message_receive(&r, "q", n, 1, NONCE_A) > 0)
			;
		*script_clock_us += 1000;
		done += n;
	}
	assert_counts(&r, "q", 0, 0, 0, count);
}

static int64_t due_at(const char *queue, const char *id)
{
	assert_int_equal(queue_message_get(&r, queue, id), 0);
	return item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_AT)->integer;
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close, .before = script_stage_empty);

TEST(they_are_due_one_after_the_other)
{
	static const char *const ids[] = { "a", "b", "c" };

	for (int chosen = 0; chosen < 2; chosen++) {
		script_stage_empty(NULL);
		for (size_t i = 0; i < 3; i++)
			make_dead((struct outgoing){ .id = ids[i] });
		if (chosen)
			run(&r, &queue_message_redrive_script, queue_keys("q"), ARGS("250", "a", "none", "b", "c"));
		else
			run(&r, &queue_redrive_script, queue_keys("q"), ARGS("100", "250", "0"));
		assert_int_equal(item_int(&r, QUEUE_STEP_TOTAL), 3);
		assert_counts(&r, "q", 1, 2, 0, 0);
		for (int i = 0; i < 3; i++)
			assert_int_equal(due_at("q", ids[i]), now_ms() + 250LL * i);
	}
	/* Each step continues the intervals of the one before. */
	script_stage_empty(NULL);
	make_dead_many(1100, "1");
	char total[24] = "0";
	do {
		run(&r, &queue_redrive_script, queue_keys("q"), ARGS("-1", "10", total));
		snprintf(total, sizeof(total), "%" PRId64, item_int(&r, QUEUE_STEP_TOTAL));
	} while (outcome(&r) == QUEUE_REDRIVE_MORE || outcome(&r) == QUEUE_REDRIVE_SETTLED);
	assert_string_equal(total, "1100");
	*script_clock_us += 1099LL * 10 * 1000 - 1000;
	assert_counts(&r, "q", 1099, 1, 0, 0);
}

/* Fails unless the body names the queue, and ends with `rest`. */
static void assert_body_from(size_t i, const char *queue, const char *rest)
{
	const char *body = received(&r, i, RECEIVED_BODY)->str;
	char lead[32];

	snprintf(lead, sizeof(lead), "\tf%s 1", queue);
	assert_int_equal(strncmp(body, lead, strlen(lead)), 0);
	assert_int_equal(strspn(body + strlen(lead), "0123456789"), 15);
	assert_string_equal(body + strlen(lead) + 15, rest);
}

/* A letter moves as it was sent, but without its ttl, worker, reason and number of deliveries. */
TEST(a_letter_moves_as_it_is)
{
	char body[10001] = "", moved[10003] = "\t=";
	int64_t duplicates;

	memset(body, '1', sizeof(body) - 1);
	memset(moved + 2, '1', sizeof(moved) - 3);
	for (int large = 0; large < 2; large++) {
		script_stage_empty(NULL);
		int64_t sent_at = now_ms();
		make_dead((struct outgoing){ .id = "a",
					     .body = large ? body : "\tt00\th{}\t=1",
					     .priority = 7,
					     .max_receives = 2,
					     .ttl_ms = MINUTE_MS,
					     .backoff = "5000:5000" });
		make_dead((struct outgoing){ .body = "2" });
		assert_int_equal(queue_redrive_to(&r, "q", "p", 0, 100, NULL, &duplicates), 2);
		assert_int_equal(duplicates, 0);
		assert_counts(&r, "q", 0, 0, 0, 0);
		assert_int_equal(queue_contents(&r, "q") + queue_states(&r, "q"), 0);
		assert_int_equal(server_command(&r, "HLEN %s", queue_key("q", ":ids"))->integer, 0);
		assert_int_equal(queue_get(&r, "p").sent, 2);
		assert_string_equal(server_command(&r, "HGET %s layout", queue_key("p", ""))->str, "2");
		assert_int_equal(queue_message_receive(&r, "p", 10, MINUTE_MS, NONCE_B), 2);
		assert_string_equal(received(&r, 1, RECEIVED_ID)->str, "a");
		assert_body_from(1, "q", large ? moved : "\tt00\th{}\t=1");
		assert_int_equal(received(&r, 1, RECEIVED_PRIORITY)->integer, 7);
		assert_int_equal(received(&r, 1, RECEIVED_SENT_AT)->integer, sent_at);
		assert_int_equal(received(&r, 1, RECEIVED_RECEIVES)->integer, 1);
		char *receipt = strdup(received(&r, 1, RECEIVED_RECEIPT)->str);
		*script_clock_us += 1000LL * (MINUTE_MS - 1); /* its ttl has passed */
		assert_int_equal(queue_message_get(&r, "p", "a"), 0);
		assert_int_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_EXPIRES_AT)->integer, 0);
		assert_string_equal(item_field(&r, QUEUE_MESSAGE_GET_MESSAGE, ITEM_REASON)->str, "");
		assert_int_equal(queue_delivery_reject(&r, "p", receipt, -1, "again", false), 1);
		assert_int_equal(due_at("p", "a"), now_ms() + queue_backoff_ms(receipt, 5000));
		free(receipt);
	}
}

/* The queue in which it died last counts. */
TEST(a_letter_that_moves_again_names_the_second_queue)
{
	for (int with_headers = 0; with_headers < 2; with_headers++) {
		script_stage_empty(NULL);
		make_dead((struct outgoing){ .id = "a", .body = with_headers ? "\th{}\t=1" : "1" });
		assert_int_equal(queue_redrive_to(&r, "q", "p", 0, 100, NULL, NULL), 1);
		assert_int_equal(queue_message_receive(&r, "p", 1, MINUTE_MS, NONCE_A), 1);
		assert_body_from(0, "q", with_headers ? "\th{}\t=1" : "\t=1");
		char *receipt = strdup(received(&r, 0, RECEIVED_RECEIPT)->str);
		queue_delivery_reject(&r, "p", receipt, -1, "why", true);
		free(receipt);
		assert_int_equal(queue_redrive_to(&r, "p", "q", 0, 100, ARGS("a"), NULL), 1);
		assert_int_equal(queue_message_receive(&r, "q", 1, MINUTE_MS, NONCE_B), 1);
		assert_body_from(0, "p", with_headers ? "\th{}\t=1" : "\t=1");
	}
}

/* The other queue knows the letter by the id that the daemon made. */
TEST(an_id_stays)
{
	make_dead((struct outgoing){ .body = "1" });
	run(&r, &queue_message_list_script, queue_keys("q"), ARGS("dead", "100", "-1", "-1", "", "1"));
	char *id = strdup(item_field(&r, QUEUE_MESSAGE_LIST_MESSAGES, ITEM_ID)->str);
	assert_int_equal(queue_redrive_to(&r, "q", "p", 0, 0, ARGS("none", id), NULL), 1);
	assert_int_equal(queue_message_get(&r, "q", id), -1);
	assert_int_equal(queue_message_get(&r, "p", id), 0);
	assert_int_equal(queue_message_send(&r, "p", (struct outgoing){ .id = id }), 0); /* a duplicate */
	free(id);
}

/* Between two steps of a move between slots, the letter was redriven, and may have died again. */
TEST(only_the_letter_that_was_read_is_removed)
{
	char sequence[32], died_at[32];

	for (int changes = 0; changes < 3; changes++) {
		script_stage_empty(NULL);
		make_dead((struct outgoing){ .id = "a", .max_receives = 1 });
		run(&r, &queue_letters_read_script, queue_keys("q"), ARGS("100", "0"));
		assert_int_equal(r.reply->elements, QUEUE_LETTERS_READ_LETTERS + 1);
		const redisReply *letter = r.reply->element[QUEUE_LETTERS_READ_LETTERS];
		snprintf(sequence, sizeof(sequence), "%s", letter->element[QUEUE_LETTER_SEQUENCE]->str);
		snprintf(died_at, sizeof(died_at), "%lld", letter->element[QUEUE_LETTER_DIED_AT_MS]->integer);
		if (changes > 0)
			run(&r, &queue_message_redrive_script, queue_keys("q"), ARGS("0", "a"));
		if (changes > 1) {
			assert_int_equal(queue_message_receive(&r, "q", 1, 1, NONCE_B), 1);
			*script_clock_us += 5000;
			assert_int_equal(queue_message_receive(&r, "q", 1, 1, NONCE_B), 0);
		}
		run(&r, &queue_letters_remove_script, queue_keys("q"), ARGS("", sequence, died_at));
		assert_int_equal(outcome(&r), changes == 0);
		assert_counts(&r, "q", changes == 1, 0, 0, changes == 2);
	}
}

/* A move of a ready message broke off: it is in both queues, and the next move stores it once. */
TEST(a_ready_message_is_stored_once)
{
	static char body[10001];
	char sequence[32], nonce[17];

	memset(body, '1', sizeof(body) - 1);
	for (int large = 0; large < 2; large++) {
		script_stage_empty(NULL);
		queue_message_send(&r, "q", (struct outgoing){ .id = "a", .body = large ? body : "1" });
		for (int i = 0; i < 2; i++) {
			assert_int_equal(queue_message_receive(&r, "q", 1, 1000, NONCE_A), 1);
			const redisReply *row = r.reply->element[QUEUE_MESSAGE_RECEIVE_DELIVERIES];
			char *content = strdup(row->element[QUEUE_DELIVERY_CONTENT]->str);
			char *text = strdup(row->element[QUEUE_DELIVERY_STORED_STATE]->str);
			snprintf(sequence, sizeof(sequence), "%s", row->element[QUEUE_DELIVERY_SEQUENCE]->str);
			snprintf(nonce, sizeof(nonce), "%.16s", text);
			run(&r, &queue_letters_store_script, queue_keys("p"),
			    ARGS("0", "0", "q", "ready", "p", sequence, content, text));
			assert_string_equal(item_text(&r, QUEUE_LETTERS_STORE_OUTCOMES), i ? "2" : "1");
			assert_int_equal(queue_get(&r, "p").sent, 1);
			free(content);
			free(text);
			*script_clock_us += i ? 0 : 5000000; /* its delivery ends */
		}
		run(&r, &queue_moved_remove_script, queue_keys("q"), ARGS(sequence, nonce));
		assert_int_equal(outcome(&r), 1);
		assert_counts(&r, "q", 0, 0, 0, 0);
		assert_int_equal(queue_contents(&r, "q") + queue_states(&r, "q"), 0);
		assert_int_equal(queue_message_send(&r, "q", (struct outgoing){ .id = "a" }), 1); /* it is forgotten */
		assert_int_equal(queue_message_receive(&r, "p", 1, 1000, NONCE_B), 1);
	}
}

/* A page has a mebibyte of contents, unless the first alone is longer. */
TEST(a_page_of_letters_is_bounded)
{
	static char body[400001];

	memset(body, '1', sizeof(body) - 1);
	for (int i = 0; i < 4; i++)
		make_dead((struct outgoing){ .body = body });
	run(&r, &queue_letters_read_script, queue_keys("q"), ARGS("100", "0"));
	assert_int_equal(r.reply->elements, QUEUE_LETTERS_READ_LETTERS + 2);
	assert_int_equal(item_int(&r, QUEUE_LETTERS_READ_IS_LAST), 0);
	run(&r, &queue_letters_read_script, queue_keys("q"), ARGS("100", "2"));
	assert_int_equal(r.reply->elements, QUEUE_LETTERS_READ_LETTERS + 2);
	assert_int_equal(item_int(&r, QUEUE_LETTERS_READ_IS_LAST), 1);
}

TEST(taken_ids_stay_dead)
{
	static const char *const ids[] = { "ready", "dead", "flies", "done", "free" };
	char receipt[64];
	int64_t duplicates;

	for (int chosen = 0; chosen < 2; chosen++) {
		script_stage_empty(NULL);
		for (size_t i = 0; i < 5; i++)
			make_dead((struct outgoing){ .id = ids[i] });
		for (size_t i = 1; i < 4; i++) {
			queue_message_send(&r, "p", (struct outgoing){ .id = ids[i] });
			assert_int_equal(queue_message_receive(&r, "p", 1, MINUTE_MS, NONCE_A), 1);
			snprintf(receipt, sizeof(receipt), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
			if (i == 1)
				queue_delivery_reject(&r, "p", receipt, -1, "", true);
			else if (i == 3)
				queue_delivery_acknowledge(&r, "p", receipt);
		}
		queue_message_send(&r, "p", (struct outgoing){ .id = "ready" });
		const char *const *given = chosen ? ARGS("free", "ready", "dead", "flies", "done") : NULL;
		assert_int_equal(queue_redrive_to(&r, "q", "p", 0, 100, given, &duplicates), 1);
		assert_int_equal(duplicates, 4);
		assert_counts(&r, "q", 0, 0, 0, 4);
		assert_counts(&r, "p", 2, 0, 1, 1);
		assert_int_equal(queue_message_get(&r, "p", "free"), 0);
		assert_int_equal(queue_redrive_to(&r, "q", "p", 0, 100, given, &duplicates), 0); /* again: nothing */
		assert_int_equal(duplicates, 4);
	}
}

/* Most of the letters stay, over several steps. `limit` counts only those that move. */
TEST(steps_pass_what_stays)
{
	static char ids[1000][16];
	int64_t duplicates;

	make_dead_many(1500, "1");
	run(&r, &queue_message_list_script, queue_keys("q"), ARGS("dead", "1", "-1", "-1", "", "1"));
	int first = atoi(item_field(&r, QUEUE_MESSAGE_LIST_MESSAGES, ITEM_ID)->str + 1);
	for (int i = 0; i < 1000; i++)
		snprintf(ids[i], 16, "m%05d", first + i);
	for (size_t i = 0; i < 1000; i++)
		queue_message_send(&r, "p", (struct outgoing){ .id = ids[i], .body = "1", .delay_ms = 60000 });
	assert_int_equal(queue_redrive_to(&r, "q", "p", 5, 100, NULL, &duplicates), 100);
	assert_int_equal(duplicates, 1000);
	assert_counts(&r, "p", 1, 1099, 0, 0);
	assert_int_equal(queue_redrive_to(&r, "q", "p", 0, 100000, NULL, &duplicates), 400);
	assert_counts(&r, "q", 0, 0, 0, 1000);
	*script_clock_us += 1000000;
	assert_counts(&r, "p", 500, 1000, 0, 0);
}

/* A step moves 4 MiB at most, so that it does not hold Redis for long. */
TEST(large_ones_take_steps)
{
	char *body = calloc(1, 1000001);

	memset(body, '1', 1000000);
	make_dead_many(10, body);
	free(body);
	char id[16], *ids[11] = { NULL };
	run(&r, &queue_message_list_script, queue_keys("q"), ARGS("dead", "1", "-1", "-1", "", "1"));
	snprintf(id, sizeof(id), "%s", item_field(&r, QUEUE_MESSAGE_LIST_MESSAGES, ITEM_ID)->str);
	int first = atoi(id + 1);
	for (int i = 0; i < 10; i++) {
		ids[i] = malloc(16);
		snprintf(ids[i], 16, "m%05d", first + i);
	}
	assert_int_equal(queue_redrive_to(&r, "q", "p", 0, 0, (const char *const *)ids, NULL), 10);
	assert_counts(&r, "p", 10, 0, 0, 0);
	for (int i = 0; i < 10; i++)
		free(ids[i]);
}

/* One letter is past its retention, and another died without a script noticing. */
TEST(time_counts_first)
{
	struct queue_settings settings = standard_settings;
	settings.dead_retention_ms = 1000;
	queue_put(&r, "q", settings);
	make_dead((struct outgoing){ .id = "old" });
	*script_clock_us += 1000000;
	queue_message_send(&r, "q", (struct outgoing){ .id = "a", .max_receives = 1 });
	assert_int_equal(queue_message_receive(&r, "q", 1, 50, NONCE_A), 1);
	*script_clock_us += 50000;
	assert_int_equal(queue_redrive_to(&r, "q", "p", 0, 100, NULL, NULL), 1);
	assert_int_equal(queue_message_get(&r, "p", "a"), 0);
	assert_int_equal(queue_get(&r, "q").died, 2);
}

TEST(a_waiter_of_the_other_queue_is_called)
{
	line_attend(&r, "p:queue:{p}");
	make_dead((struct outgoing){ .id = "a" });
	assert_int_equal(queue_wait(&r, "p", QUEUE_TICKET(DAEMON_A, 1, 1), MINUTE_MS, 0), 0);
	line_subscribe(&r, "p:queue:{p}");
	assert_int_equal(queue_redrive_to(&r, "q", "p", 0, 100, NULL, NULL), 1);
	assert_string_equal(line_published(&r), "A1 0");
	line_subscribe(&r, NULL);
}
