/*
 * BullMQ's published cases of global concurrency as facts: which jobs run at once, and in which
 * order. Source: taskforcesh/bullmq, tests/concurrency.test.ts at 352d3c72 (MIT licence). The facts
 * are taken, not the code.
 *
 * BullMQ's setGlobalConcurrency is the setting `concurrency` here, a worker's own concurrency is
 * how many messages it asks for, and lockDuration is visibility_ms. These cases are not taken:
 *	- events ("emits drained global event ...");
 *	- parents and children ("when moving job to waiting-children");
 *	- a pause of the whole queue by a worker ("when global dynamic limit is used"), since a
 *	  worker here pauses a group;
 *	- a job that counts until it is removed, although its lock has expired ("does not get stuck
 *	  in max state"), since a message here does not count past its visibility.
 *
 * A case is a row of steps. The steps behind a | are repeated:
 *
 *	N15		so many messages 1, 2, ... are sent
 *	=1 =-		the concurrency is set; it is removed
 *	>10:1,2 >10:-	a worker asks for 10, and gets 1 and 2; it gets nothing
 *	.1 !1,100	1 is done; it failed, and is tried again in 100 ms
 *	+100		so many ms pass
 * $ is the number of the repetition, from 1; % is 2 * $ - 1, and & is 2 * $.
 */
#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

enum { VISIBILITY_MS = 1000, MESSAGES_MOST = 16 };

static const struct {
	const char *name, *steps;
	int times;
} cases[] = {
	{ "should run max concurrency for jobs added", "N15 =1 | >10:$ >10:- .$", 15 },
	{ "should run max concurrency for jobs added, once it was removed", "N16 =1 =- | >2:%,& .% .&", 8 },
	{ "should automatically process stalled jobs respecting group order",
	  "N4 =2 >4:1,2 >4:- +1000 >4:3,4 >4:- .3 .4 >4:1,2 .1 .2", 0 },
	{ "when jobs use backoff strategy: processes jobs without getting stuck",
	  "N2 =1 >10:1 >10:- !1,100 >10:2 >10:- !2,100 >10:- +100 | >10:$ >10:- .$", 2 },
	{ "when backoff is 0: processes jobs without getting stuck", "N7 =1 | >4:$ >4:- +20 !$,0 | >4:$ >4:- +20 .$",
	  7 },
};

static char receipts[MESSAGES_MOST + 1][64];

static void set_concurrency(const char *value)
{
	run(&r, &queue_put_script, queue_keys("q"),
	    ARGS("-1", "-1", "0", "0", "-1", "-1", "0", "-1", "-1", "", "-1", "-1", "-1", *value == '-' ? "-2" : value,
		 "-1", "-1"));
	assert_int_equal(outcome(&r), 1);
}

static void send_all(int count)
{
	for (int i = 1; i <= count; i++) {
		char body[8];
		snprintf(body, sizeof(body), "%d", i);
		queue_message_send(&r, "q", (struct outgoing){ .body = body });
	}
}

static void work(char *step, const char *name)
{
	static char nonce[24];
	static int nonces;
	char *wanted = strchr(step, ':') + 1, got[128] = "";

	snprintf(nonce, sizeof(nonce), "%016d", ++nonces);
	int64_t count = queue_message_receive(&r, "q", atoi(step), VISIBILITY_MS, nonce);
	for (size_t i = 0; i < (size_t)count; i++) {
		const char *body = received(&r, i, RECEIVED_BODY)->str;
		size_t length = strlen(got);
		snprintf(got + length, sizeof(got) - length, "%s%s", length ? "," : "", body);
		assert_in_range(atoi(body), 1, MESSAGES_MOST);
		snprintf(receipts[atoi(body)], sizeof(receipts[0]), "%s", received(&r, i, RECEIVED_RECEIPT)->str);
	}
	if (strcmp(count ? got : "-", wanted) != 0)
		fail_msg("%s: a worker got %s, not %s", name, got, wanted);
}

static void step(char *text, const char *name)
{
	const char *receipt = receipts[(*text == '.' || *text == '!') ? atoi(text + 1) : 0];

	switch (*text) {
	case 'N':
		send_all(atoi(text + 1));
		return;
	case '=':
		set_concurrency(text + 1);
		return;
	case '>':
		work(text + 1, name);
		return;
	case '.':
		assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), 1);
		return;
	case '!':
		assert_int_equal(queue_delivery_reject(&r, "q", receipt, atoi(strchr(text, ',') + 1), "no", false), 1);
		return;
	case '+':
		*script_clock_us += 1000LL * atoi(text + 1);
		return;
	}
	fail_msg("%s: there is no step %s", name, text);
}

/* Replaces the marks of a repeated part by numbers. */
static void fill_in(const char *part, int times, char to[256])
{
	size_t length = 0;

	for (; *part; part++) {
		int number = *part == '$' ? times : *part == '%' ? 2 * times - 1 : *part == '&' ? 2 * times : 0;
		length += (size_t)(number ? snprintf(to + length, 256 - length, "%d", number)
					  : snprintf(to + length, 256 - length, "%c", *part));
	}
}

static void steps(const char *part, int times, const char *name)
{
	char all[256], *rest = NULL;

	fill_in(part, times, all);
	for (char *text = strtok_r(all, " ", &rest); text; text = strtok_r(NULL, " ", &rest))
		step(text, name);
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close);

TEST(they_run_as_published)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		char *copy = strdup(cases[i].steps), *rest = NULL;
		script_stage_empty(NULL);
		char *part = strtok_r(copy, "|", &rest);
		steps(part, 1, cases[i].name);
		while ((part = strtok_r(NULL, "|", &rest)))
			for (int k = 1; k <= cases[i].times; k++)
				steps(part, k, cases[i].name);
		free(copy);
		assert_int_equal(queue_contents(&r, "q"), 0);
	}
}
