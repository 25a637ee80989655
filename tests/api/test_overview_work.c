/*
 * GET /overview finds work that fails or hangs, minutes before it ends as a dead letter or as a
 * queue that grows.
 */
#include "overview_stage.h"

/* Receives all that is ready, and rejects it; or acknowledges it, without a reason. */
static void end_all(const char *queue, const char *reason)
{
	char target[160], body[160];

	snprintf(target, sizeof(target), "/queues/%s/receive", queue);
	struct answer a = http(client, "POST", target, "{\"limit\":100,\"worker\":\"w 1\"}");
	json_t *list = json_deep_copy(json_at(a, "/messages"));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *receipt = json_string_value(json_object_get(json_array_get(list, i), "receipt"));
		snprintf(target, sizeof(target), "/queues/%s/deliveries/%s%s", queue, receipt, reason ? "/reject" : "");
		snprintf(body, sizeof(body), "{\"reason\":\"%s\"}", reason ? reason : "");
		done(reason ? "POST" : "DELETE", target, reason ? body : NULL);
	}
	json_decref(list);
}

TEST(work_that_fails_is_found_before_it_is_dead)
{
	for (int i = 0; i < 2; i++)
		done("POST", "/queues/broken/messages", "{\"body\":1}");
	end_all("broken", "no module named smtp");
	*redis_clock_us += 1000000;
	end_all("broken", "no module named smtp");
	struct answer a = look();
	assert_text(finding(a, "work_failing"), "name", "broken");
	assert_int_equal(number(finding(a, "work_failing"), "value"), 4);
	assert_detail(finding(a, "work_failing"), "4 deliveries failed within 150 s, and 0 were acknowledged; the last "
						  "failed: no module named smtp (w 1)");
	*redis_clock_us += 2000000;
	end_all("broken", NULL);
	struct answer q = http(client, "GET", "/queues/broken", NULL);
	assert_int_equal(int_at(q, "/recent/failed"), 4);
	assert_int_equal(int_at(q, "/recent/acknowledged"), 2);
	assert_null(finding(look(), "work_failing"));
	*redis_clock_us += 300000000;
	q = http(client, "GET", "/queues/broken", NULL);
	assert_int_equal(int_at(q, "/recent/failed"), 0);
	assert_int_equal(int_at(q, "/recent/acknowledged"), 0);
	assert_int_equal(int_at(q, "/rejected"), 4);
}

/* The worker that tries the message again did not fail it. */
TEST(the_worker_of_a_failure_is_not_the_next_one)
{
	done("POST", "/queues/again/messages", "{\"body\":1}");
	end_all("again", "no memory");
	assert_string_equal(text_at(http(client, "GET", "/queues/again", NULL), "/last_failed/worker"), "w 1");
	*redis_clock_us += 1000000;
	done("POST", "/queues/again/receive", "{\"worker\":\"w 2\"}");
	struct answer q = http(client, "GET", "/queues/again", NULL);
	assert_int_equal(int_at(q, "/in_flight"), 1);
	assert_string_equal(text_at(q, "/last_failed/reason"), "no memory");
	assert_true(json_is_null(json_at(q, "/last_failed/worker")));
}

TEST(one_poison_message_among_good_ones_is_found)
{
	done("POST", "/queues/mixed/messages", "{\"body\":0,\"id\":\"poison\"}");
	for (int i = 0; i < 5; i++) {
		assert_null(finding(look(), "message_failing"));
		end_all("mixed", "bad address");
		for (int k = 0; k < 4; k++)
			done("POST", "/queues/mixed/messages", "{\"body\":1}");
		end_all("mixed", NULL);
		*redis_clock_us += 16000000;
	}
	struct answer a = look();
	assert_null(finding(a, "work_failing"));
	assert_int_equal(number(finding(a, "message_failing"), "value"), 5);
	assert_detail(finding(a, "message_failing"),
		      "message poison was delivered 5 times, and failed: bad address (w 1)");
	end_all("mixed", NULL);
	assert_null(finding(look(), "message_failing"));
}

static bool has_finding(const char *queue, const char *kind)
{
	char target[64];

	snprintf(target, sizeof(target), "/queues/%s", queue);
	return json_item(http(client, "GET", target, NULL), "/findings", "kind", kind) != NULL;
}

enum { FORGOTTEN_US = 310000000 }; /* no delivery has ended of late, after so long without one */

static int64_t retrying(const char *queue)
{
	char target[64];

	snprintf(target, sizeof(target), "/queues/%s", queue);
	return int_at(http(client, "GET", target, NULL), "/retrying");
}

static void assert_retries_fail(void)
{
	char wanted[160];
	struct answer a = look();
	int64_t count = retrying("rare");

	assert_in_range(count, 3, 20);
	snprintf(wanted, sizeof(wanted),
		 "%d messages failed and wait for another try, and none was acknowledged since; the last failed: no "
		 "bank (w 1)",
		 (int)count);
	assert_text(finding(a, "work_failing"), "unit", "deliveries");
	assert_int_equal(number(finding(a, "work_failing"), "value"), count);
	assert_detail(finding(a, "work_failing"), wanted);
}

/* Retries become rare by their backoff. */
TEST(work_that_fails_is_found_until_something_is_acknowledged)
{
	char target[160];

	done("PUT", "/queues/rare", "{\"backoff\":{\"base_ms\":10000,\"max_ms\":7200000}}");
	for (int i = 0; i < 20; i++)
		done("POST", "/queues/rare/messages", "{\"body\":1}");
	for (int s = 0; s < 9000; s += 30) {
		end_all("rare", "no bank");
		if (!has_finding("rare", "work_failing"))
			fail_msg("the work does not fail after %d s", s);
		*redis_clock_us += 30000000;
	}
	*redis_clock_us += FORGOTTEN_US;
	assert_retries_fail();
	struct answer a = http(client, "POST", "/queues/rare/receive", "{\"limit\":1}");
	snprintf(target, sizeof(target), "/queues/rare/deliveries/%s", text_at(a, "/messages/0/receipt"));
	done("DELETE", target, NULL);
	assert_false(has_finding("rare", "work_failing"));
	*redis_clock_us += FORGOTTEN_US;
	assert_false(has_finding("rare", "work_failing"));
	done("POST", "/queues/rare/receive", "{\"limit\":1}"); /* Redis does not have the acknowledgement any more */
	*redis_clock_us += 1000000;
	assert_false(has_finding("rare", "work_failing"));
	assert_in_range(retrying("rare"), 3, 20);
}

/*
 * Only one message fails, though more often than others are acknowledged, and after 150 s these are
 * forgotten.
 */
TEST(one_poison_message_in_a_quiet_queue_is_no_work_that_fails)
{
	done("PUT", "/queues/quiet", "{\"max_receives\":60,\"backoff\":{\"base_ms\":5000,\"max_ms\":5000}}");
	for (int i = 0; i < 2; i++)
		done("POST", "/queues/quiet/messages", "{\"body\":\"good\"}");
	end_all("quiet", NULL);
	done("POST", "/queues/quiet/messages", "{\"body\":\"bad\",\"id\":\"bad\"}");
	int receives = 0;
	for (int s = 0; s < 900; s++) {
		end_all("quiet", "bad address");
		struct answer a = http(client, "GET", "/queues/quiet", NULL);
		bool is_dead = int_at(a, "/dead") == 1;
		receives = is_dead ? 0 : (int)int_at(a, "/most_failed/receives");
		assert_null(json_item(a, "/findings", "kind", "work_failing"));
		assert_int_equal(json_item(a, "/findings", "kind", "message_failing") != NULL, receives >= 5);
		if (is_dead)
			return;
		*redis_clock_us += 1000000;
	}
	fail_msg("the message has %d receives", receives);
}

/* Its messages do not show where they come from until a worker receives them. */
TEST(a_queue_of_dead_letters_names_the_other_queue)
{
	done("PUT", "/queues/letters", "{}");
	done("PUT", "/queues/bills:eu", "{\"max_receives\":1,\"dead_letter_queue\":\"letters\"}");
	done("POST", "/queues/bills:eu/messages", "{\"body\":1}");
	end_all("bills:eu", "no such account");
	wait_until(int_at(http(client, "GET", "/queues/letters", NULL), "/ready") == 1, SOON_MS);
	*redis_clock_us += 61000000;
	struct answer a = look();
	assert_text(finding(a, "messages_waiting"), "name", "letters");
	assert_detail(finding(a, "messages_waiting"),
		      "1 message is due, and none is in flight; it gets the dead letters of queue 'bills:eu'");
}

TEST(time_outs_are_failures)
{
	done("PUT", "/queues/slow", "{\"visibility_ms\":1000,\"backoff\":{\"base_ms\":0,\"max_ms\":0}}");
	for (int i = 0; i < 3; i++) {
		done("POST", "/queues/slow/messages", "{\"body\":1}");
		done("POST", "/queues/slow/receive", NULL);
	}
	*redis_clock_us += 1000000;
	assert_int_equal(number(finding(look(), "work_failing"), "value"), 3);
}

/* Extends a delivery each 25 s for so many seconds, as a client does for a handler that sleeps. */
static void extend_for(const char *queue, const char *receipt, int seconds, const char *body)
{
	char target[160];

	snprintf(target, sizeof(target), "/queues/%s/deliveries/%s/extend", queue, receipt);
	for (int s = 0; s < seconds; s += 25) {
		*redis_clock_us += 25000000;
		done("POST", target, body);
	}
}

static const char *receipt_of(const char *queue)
{
	static char receipt[80];
	char target[64];

	snprintf(target, sizeof(target), "/queues/%s/receive", queue);
	struct answer a = http(client, "POST", target, "{\"worker\":\"w 1\"}");
	snprintf(receipt, sizeof(receipt), "%s", text_at(a, "/messages/0/receipt"));
	return receipt;
}

TEST(work_that_hangs_is_found_with_what_it_blocks)
{
	done("PUT", "/queues/ledger", "{\"order\":\"strict\"}");
	for (int i = 0; i < 3; i++)
		done("POST", "/queues/ledger/messages", "{\"body\":1,\"group\":\"acc-2\"}");
	int64_t began_ms = *redis_clock_us / 1000;
	const char *receipt = receipt_of("ledger");
	extend_for("ledger", receipt, 275, "{}");
	struct answer a = look();
	assert_null(finding(a, "work_hanging"));
	assert_true(json_is_null(json_at(http(client, "GET", "/queues/ledger", NULL), "/hanging")));
	extend_for("ledger", receipt, 25, "{}");
	a = look();
	assert_text(finding(a, "work_hanging"), "name", "ledger");
	assert_int_equal(number(finding(a, "work_hanging"), "since_at_ms"), began_ms / 1000 * 1000);
	const char *id = text_at(http(client, "GET", "/queues/ledger", NULL), "/hanging/id");
	char wanted[160];
	snprintf(wanted, sizeof(wanted), "w 1 extends message %s without an end; 2 messages of the queue are blocked",
		 id);
	assert_detail(finding(a, "work_hanging"), wanted);
	a = http(client, "GET", "/queues/ledger/messages?state=in_flight", NULL);
	assert_int_equal(int_at(a, "/items/0/received_at_ms"), began_ms / 1000 * 1000);
	assert_int_equal(int_at(http(client, "GET", "/queues/ledger", NULL), "/oldest_blocked_ms"), 300000);
	char target[160];
	snprintf(target, sizeof(target), "/queues/ledger/deliveries/%s", receipt);
	done("DELETE", target, NULL);
	assert_null(finding(look(), "work_hanging"));
}

static int64_t first_received(const char *id)
{
	char target[128];

	snprintf(target, sizeof(target), "/queues/kept/messages/%s", id);
	const json_t *first = json_at(http(client, "GET", target, NULL), "/first_received_at_ms");
	return json_is_null(first) ? 0 : json_integer_value(first);
}

/* Rejects and time-outs keep when a message was first delivered; a redrive starts again. */
TEST(the_first_delivery_of_a_message_is_kept)
{
	char target[160];

	done("PUT", "/queues/kept", "{\"visibility_ms\":10000,\"backoff\":{\"base_ms\":0,\"max_ms\":0}}");
	done("POST", "/queues/kept/messages", "{\"body\":1,\"id\":\"a\",\"max_receives\":4}");
	assert_int_equal(first_received("a"), 0);
	int64_t began_ms = *redis_clock_us / 1000000 * 1000;
	snprintf(target, sizeof(target), "/queues/kept/deliveries/%s/reject", receipt_of("kept"));
	assert_int_equal(first_received("a"), began_ms);
	*redis_clock_us += 5000000;
	done("POST", target, "{\"delay_ms\":0}");
	assert_int_equal(first_received("a"), began_ms);
	for (int i = 0; i < 2; i++) {
		receipt_of("kept"); /* it times out */
		assert_int_equal(first_received("a"), began_ms);
		*redis_clock_us += 11000000;
		assert_int_equal(first_received("a"), began_ms);
	}
	snprintf(target, sizeof(target), "/queues/kept/deliveries/%s", receipt_of("kept"));
	snprintf(target + strlen(target), sizeof(target) - strlen(target), "/reject");
	done("POST", target, "{}");
	struct answer a = http(client, "GET", "/queues/kept/messages/a", NULL);
	assert_string_equal(text_at(a, "/state"), "dead");
	assert_int_equal(int_at(a, "/first_received_at_ms"), began_ms);
	done("POST", "/queues/kept/redrive", "{}");
	assert_int_equal(first_received("a"), 0);
	snprintf(target, sizeof(target), "/queues/kept/deliveries/%s", receipt_of("kept"));
	assert_int_equal(first_received("a"), *redis_clock_us / 1000000 * 1000);
	done("DELETE", target, NULL);
}

/* A worker may state how long its work takes, by its extensions, or report its progress. */
TEST(long_work_is_no_hanging_work)
{
	for (int i = 0; i < 2; i++)
		done("POST", "/queues/video/messages", "{\"body\":1}");
	extend_for("video", receipt_of("video"), 400, "{\"visibility_ms\":150000}");
	done("POST", "/queues/films/messages", "{\"body\":1}");
	extend_for("films", receipt_of("films"), 400, "{\"progress\":{\"percent\":1}}");
	assert_null(finding(look(), "work_hanging"));
	done("POST", "/queues/series/messages", "{\"body\":1}");
	const char *late = receipt_of("series");
	extend_for("series", late, 400, "{}");
	assert_non_null(finding(look(), "work_hanging"));
	extend_for("series", late, 20, "{\"progress\":{\"percent\":1}}");
	assert_null(finding(look(), "work_hanging"));
}

/* The oldest of all that hang is named, also if another one was seen first. */
TEST(the_longest_of_many_is_named)
{
	char first[80], target[160];

	for (int i = 0; i < 2; i++)
		done("POST", "/queues/two/messages",
		     i ? "{\"body\":1,\"id\":\"second\"}" : "{\"body\":1,\"id\":\"first\"}");
	snprintf(first, sizeof(first), "%s", receipt_of("two"));
	*redis_clock_us += 5000000;
	const char *second = receipt_of("two");
	snprintf(target, sizeof(target), "/queues/two/deliveries/%s/extend", first);
	for (int s = 0; s < 300; s += 25) {
		done("POST", target, "{}");
		extend_for("two", second, 25, "{}");
	}
	assert_string_equal(text_at(http(client, "GET", "/queues/two", NULL), "/hanging/id"), "second");
	done("POST", target, "{}");
	assert_string_equal(text_at(http(client, "GET", "/queues/two", NULL), "/hanging/id"), "first");
	snprintf(target, sizeof(target), "/queues/two/deliveries/%s", first);
	done("DELETE", target, NULL);
	extend_for("two", second, 25, "{}");
	assert_string_equal(text_at(http(client, "GET", "/queues/two", NULL), "/hanging/id"), "second");
}

SUITE(.open = start, .close = stop, .after = forget_all);
