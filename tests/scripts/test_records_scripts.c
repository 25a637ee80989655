/*
 * What Redis keeps beside the messages while workers run like the clients in clients/. Each message
 * has an id of 32 bytes, and each receive an idempotency record, kept for as long as its client may
 * repeat it. The memory is bounded by time, not by the number of jobs.
 */
#include <inttypes.h>

#include "queue_calls.h"
#include "redis_clock.h"
#include "script_stage.h"
#include "test.h"

enum { JOBS_A_SECOND = 100, SECONDS = 420, MOST_BYTES = 16 * 1000 * 1000 };
/* The lifetime is the clients' timeout_ms, the wait of a worker's loop, and 30 s. */
#define CLIENT_FINGERPRINT                                                 \
	"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc" \
	" 80000"

static long long used_memory(void)
{
	const char *line = strstr(server_command(&r, "INFO memory")->str, "used_memory:");

	assert_non_null(line);
	return strtoll(line + strlen("used_memory:"), NULL, 10);
}

/* One second of work: a batch is sent, each job is received alone, and all are acknowledged. */
static void work(int second)
{
	static char ids[JOBS_A_SECOND][40], receipts[JOBS_A_SECOND][64];
	struct outgoing batch[JOBS_A_SECOND] = { 0 };
	const char *done[JOBS_A_SECOND + 1] = { NULL };
	char record[96], nonce[24];

	for (int i = 0; i < JOBS_A_SECOND; i++) {
		snprintf(ids[i], sizeof(ids[i]), "%032x", second * JOBS_A_SECOND + i);
		batch[i].id = ids[i];
	}
	queue_send_all(&r, "q", batch, JOBS_A_SECOND);
	for (int i = 0; i < JOBS_A_SECOND; i++) {
		int job = second * JOBS_A_SECOND + i;
		snprintf(record, sizeof(record), "p:idem:{q}:%032x", job);
		snprintf(nonce, sizeof(nonce), "%016x", job);
		run_with_record(&r, &queue_message_receive_script, queue_keys("q"),
				ARGS("1", "30000", nonce, "0", "", "0", "0"), record, CLIENT_FINGERPRINT);
		assert_int_equal(outcome(&r), 1);
		snprintf(receipts[i], sizeof(receipts[i]), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
		done[i] = receipts[i];
	}
	assert_int_equal(queue_delivery_settle(&r, "q", done, ARGS(), 0), JOBS_A_SECOND);
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close, .after = script_stage_empty);

TEST(a_worker_fills_redis_with_nothing)
{
	server_expires_alone(&r, true);
	work(0);
	long long before = used_memory(), largest = 0;
	for (int second = 1; second <= SECONDS; second++) {
		*script_clock_us += 1000000;
		work(second);
		long long used = used_memory() - before;
		largest = used > largest ? used : largest;
	}
	print_message("%d jobs a second: %lld bytes\n", JOBS_A_SECOND, largest);
	assert_true(largest < MOST_BYTES);
	assert_counts(&r, "q", 0, 0, 0, 0);
}
