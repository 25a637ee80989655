/*
 * BullMQ's published cases of job schedulers as facts: when their jobs run, with which data, and
 * how many schedulers and jobs there are. Source: taskforcesh/bullmq, tests/job_scheduler.test.ts
 * at 352d3c72 (MIT licence). The facts are taken, not the code.
 *
 * BullMQ's upsertJobScheduler is PUT here, and removeJobScheduler is DELETE. Its { every } begins
 * at once, so a run makes the first message here. Its promote() of the next job is a run, and
 * { offset } is start_at_ms. Patterns and times in seconds are in minutes here.
 *
 * These cases are not taken, since patternd promises something else:
 *	- a PUT makes no message, also when it changes `every` ("should reschedule immediately
 *	  ..."), and keeps the messages that were made ("should upsert scheduler by removing ...
 *	  job", "when job scheduler is removed and upserted", "... and updated");
 *	- a run does not bring the next instant forward ("should schedule next ... after promote");
 *	- a message that a schedule made is one like any other: it can be cancelled, purged, and
 *	  dies ("should not allow to remove ...", "should not remove delayed jobs ...", "should
 *	  allow repeatable jobs to be retried infinitely ...", "should fail regular jobs ...");
 *	- a time zone that does not exist is an error ("... with different cron patterns").
 * Other cases are not taken either: they try events, strategies of the program, options with
 * another form (debounce, immediately, both every and pattern, which the contract refuses), or
 * faults of BullMQ's worker.
 *
 * A case is a start and a row of steps:
 *
 *	Pa,...		schedule `a` is PUT, with e<ms> (every) or c<minute>_<hour>_<day>_<month>_*
 *			(cron), L<limit>, S<start>, E<end>, p<priority>, b<body>, z<offset of its
 *			zone, s>
 *	-a,...		that PUT is refused
 *	Ra Da da	it is run; it is deleted; there is nothing to delete
 *	na=<time>	its next instant
 *	+250 T<time>	so many ms pass; until then
 *	>1 >-		a worker gets the message with that body; nothing is there for one
 *	. ! * u		it is done; it failed for good; what failed is tried again; all is purged
 *	s<priority>,<delay>	a message is sent, with its priority as body
 *	#1 :1		so many schedules; so many messages
 * A time is an instant in UTC, or + and ms from the start of the case.
 */
#include <time.h>

#include "queue_calls.h"
#include "script_stage.h"
#include "test.h"

enum { LONG_MS = 3600000, MASK_LEN = 136, FIELDS = 5 };

static const struct {
	const char *name, *start, *steps;
	int times; /* how often the steps behind `|` run; 0: there are none */
} cases[] = {
	{ "when endDate is not greater than current timestamp: throws an error", "2017-02-07T09:24:00",
	  "-a,e100,E2017-02-07T09:23:59 #0", 0 },
	{ "it should stop repeating after endDate", "2017-02-07T09:24:00", "Pa,e100,E+1000 | +100 >a .", 10 },
	{ "it should stop repeating after endDate: then nothing is left", "2017-02-07T09:24:00",
	  "Pa,e100,E+1000 +1000 >a . #0 +1000 >- :0", 0 },
	{ "same cron pattern and different job scheduler id: should create multiple jobs", "2017-02-07T09:24:00",
	  "Pa,c*/10_*_*_*_* Pb,c*/10_*_*_*_* Pc,c*/10_*_*_*_* #3 +360000 >a >b >c >- #3", 0 },
	{ "same id and different every pattern: should create only one job scheduler", "2017-02-07T09:24:00",
	  "Pa,e1000 Pa,e2000 Pa,e3000 #1 na=+3000", 0 },
	{ "should create only one job scheduler and one delayed job", "2017-02-07T09:24:00",
	  "Pa,e300000 Ra >a Pa,e300000 Pa,e300000 Pa,e300000 #1 . :0 +300000 >a >-", 0 },
	{ "should create only one job scheduler and one delayed job with different settings", "2017-02-07T03:54:01",
	  "Pa,e60000 Ra >a +1 Pa,e120000 +1 Pa,e180000 +1 Pa,e240000 #1 na=+240003 .", 0 },
	{ "should respect offset when upserting a job scheduler with every", "2017-02-07T03:54:00",
	  "Pa,e900000,S2017-02-07T00:03:00 #1 na=2017-02-07T04:03:00", 0 },
	{ "should respect offset on first upsert when offset slot is in the future", "2017-02-07T03:46:00",
	  "Pa,e900000,S2017-02-07T00:03:00 #1 na=2017-02-07T03:48:00", 0 },
	{ "next delayed job already exists: updates the scheduler with the new settings", "2017-02-07T03:54:00",
	  "Pa,e60000 Ra >a Pa,e120000 #1 na=+120000 :1", 0 },
	{ "updates scheduler and creates next iteration", "2017-02-07T03:50:00",
	  "Pa,c*/10_*_*_*_*,bbar Ra >bar Pa,c*/10_*_*_*_*,bbaz #1 na=+600000 . +600000 >baz >-", 0 },
	{ "when clocks are slightly out of sync: should create only one delayed job", "2017-02-07T09:24:00",
	  "Pa,e100 +1 Pa,e100 +1 Pa,e100 #1 na=+100 +98 >a >-", 0 },
	{ "should repeat every 2 seconds", "2017-02-07T15:24:00",
	  "Pa,c*/2_*_*_*_*,bbar na=2017-02-07T15:26:00 | +126000 >bar .", 5 },
	{ "should repeat every 2 seconds with startDate in future", "2017-02-07T09:24:00",
	  "Pa,c*/2_*_*_*_*,S+300000 na=+360000 +359999 >- +1 >a . | +150000 >a .", 4 },
	{ "should repeat every 2 seconds with startDate in past", "2017-02-07T09:24:00",
	  "Pa,c*/2_*_*_*_*,S2017-02-07T07:24:00 na=+120000 | +150000 >a .", 5 },
	{ "'every' option is on same millis as iteration time", "2017-02-07T09:24:00",
	  "Pa,e2000 Ra >a . | +1999 >- +1 >a . :0 #1", 4 },
	{ "'every' and time is one millisecond before iteration time", "2017-02-07T09:23:59",
	  "+999 Pa,e2000 Ra >a . | +1999 >- +1 >a .", 4 },
	{ "'every' and time is one millisecond after iteration time", "2017-02-07T09:24:00",
	  "+1 Pa,e2000 Ra >a . | +1999 >- +1 >a .", 4 },
	{ "'every' and offset on upsert: aligns the first job to the next offset slot after now", "2017-02-07T09:10:00",
	  "Pa,e900000,S2017-02-07T00:03:00 na=2017-02-07T09:18:00 #1", 0 },
	{ "'every' and offset plus delay of being picked: the delays do not add up", "2017-02-07T09:24:01",
	  "+900 Pa,e2000 Ra +100 >a . | +2000 >a . >-", 4 },
	{ "should start immediately even after removing the job scheduler and adding it again", "2017-02-07T09:24:00",
	  "Pa,e2000 Ra +2000 >a . Da #0 Pa,e2000 Ra >a .", 0 },
	{ "should repeat once a day for 5 days and start immediately using endDate", "2017-05-05T01:01:00",
	  "Pa,c0_1_*_*_*,E2017-05-10T13:13:00 Ra +5500 >a . | +86410000 >a .", 4 },
	{ "should repeat once a day for 5 days and start immediately", "2017-05-05T01:01:00",
	  "Pa,c0_7_*_*_* Ra +5500 >a . +21600000 >a . | +86410000 >a .", 3 },
	{ "should repeat once a day after startDate that is equal as first iteration", "2024-10-10T11:00:00",
	  "Pa,c30_19_*_*_*,S2024-10-10T14:00:00,z19800 na=+10800000 +10800000 >a . na=+97200000 | +86410000 >a .", 4 },
	{ "should repeat once a day for 5 days", "2017-05-05T13:12:00",
	  "Pa,c0_1_*_*_*,E2017-05-10T01:00:00 T2017-05-06T01:00:00 >a . | +86400000 >a .", 4 },
	{ "should repeat once a day for 5 days: then nothing is left", "2017-05-05T13:12:00",
	  "Pa,c0_1_*_*_*,E2017-05-10T01:00:00 T2017-05-10T01:00:00 >a . #0 +86400000 >-", 0 },
	{ "should repeat 7:th day every month at 9:25", "2017-02-02T07:21:42",
	  "Pa,c25_9_7_*_* na=2017-02-07T09:25:00 T2017-02-07T09:25:00 >a . na=2017-03-07T09:25:00 T2017-12-31T00:00:00 >a . "
	  "na=2018-01-07T09:25:00 T2020-02-29T00:00:00 >a . na=2020-03-07T09:25:00",
	  0 },
	{ "when 2 jobs with the same options are added: creates only one job", "2017-02-07T09:24:00",
	  "Pa,c0_1_*_*_* Pa,c0_1_*_*_* #1 T2017-02-08T01:00:00 >a >-", 0 },
	{ "promoted: keeps one repeatable and one delayed after being processed", "2017-02-07T09:24:00",
	  "Pa,c0_*_1_*_* na=2017-03-01T00:00:00 Ra >a . #1 :0 na=2017-03-01T00:00:00", 0 },
	{ "should allow removing a named repeatable job", "2017-02-07T09:24:00",
	  "Pa,c*/1_*_*_*_* +60060 >a . +60060 >a . +60060 >a Da . +60060 >- #0 :0", 0 },
	{ "when repeatable job does not exist: returns false", "2017-02-07T09:24:00", "Pa,c*/2_*_*_*_* #1 Da da #0",
	  0 },
	{ "when repeatable job fails: should continue repeating", "2017-02-07T15:24:00",
	  "Pa,c0_*_1_*_*,z19800,p1 Ra >a ! #1 :1 na=2017-02-28T18:30:00", 0 },
	{ "should not create a new delayed job if the failed job is retried with retryJobs", "2017-02-07T09:24:00",
	  "Pa,e579000 Ra >a +177000 ! +177000 * >a . #1 :0 +225000 >a >- #1", 0 },
	{ "should not create a new delayed job if the failed job is retried with Job.retry()", "2017-02-07T09:24:00",
	  "Pa,e477000 Ra >a +177000 ! * :1 >a . :0 #1 na=+477000", 0 },
	{ "should keep only one waiting job if adding a new repeatable job with the same id", "2017-02-07T09:24:00",
	  "Pa,e10000 Ra +2000 #1 :1 Pa,e35160 #1 :1 na=+37160", 0 },
	{ "should keep only one delayed job if adding a new repeatable job with the same id", "2017-02-07T09:24:00",
	  "Pa,c0_*_1_*_*,bbar,p1 +2000 #1 Pa,c0_*_1_*_*,bbaz,p2 #1 T2017-03-01T00:00:00 >baz >-", 0 },
	{ "should update delayed job timestamp when upserting with different pattern", "2017-02-07T09:00:00",
	  "Pa,c10_*_*_*_*,bbar na=+600000 Pa,c30_*_*_*_*,bbaz na=+1800000 #1 +1799999 >- +1 >baz", 0 },
	{ "should allow adding a repeatable job after removing it", "2017-02-07T09:24:00",
	  "Pa,c*/5_*_*_*_* #1 Da #0 +300000 >- Pa,c*/5_*_*_*_* #1 +300000 >a", 0 },
	{ "should keep one delayed job if updating a repeatable job's every option", "2022-01-08T07:22:21",
	  "Pa,e5000 Pa,e4000 Pa,e5000 #1 +5000 >a >-", 0 },
	{ "when deleting and upserting a job scheduler: should not throw error while processing jobs",
	  "2017-02-07T09:24:00", "Pa,e500 | +500 >a Da Pa,e500 .", 7 },
	{ "should not repeat more than 5 times", "2017-02-07T03:54:00", "Pa,c*/1_*_*_*_*,L5 na=+60000 | +90000 >a .",
	  5 },
	{ "should not repeat more than 5 times: then nothing is left", "2017-02-07T03:54:00",
	  "Pa,e60000,L2 +60000 >a . #1 +60000 >a . #0 +600000 >-", 0 },
	{ "should processes delayed jobs by priority", "2017-02-02T07:21:42",
	  "s1,3000 s2,2000 s3,1000 +3100 >1 . >2 . >3 .", 0 },
	{ "should use \".every\" as a valid interval", "2017-02-07T09:24:00",
	  "Pm,e2000 Ps,e2000 +2500 | >m . +2500 >s . +2500", 10 },
	{ "should repeat every day with a startDate in the future", "2024-01-01T10:00:00",
	  "Pa,e86400000,S+10000 na=+10000 +9999 >- +1 >a . | +86399999 >- +1 >a .", 4 },
	{ "should throw an error when not specifying .pattern or .every", "2017-02-07T09:24:00", "-a #0", 0 },
	{ "should return a valid job with the job's options and data passed as the job template", "2017-02-07T09:24:00",
	  "Pa,e1000,bbar Ra >bar", 0 },
	{ "worker should start processing repeatable jobs after drain", "2017-02-07T09:24:00",
	  "Pa,c*_*_*_*_*,bbar +61000 :0 u #1 +61000 >bar .", 0 },
	{ "id contains 5 or more colon segments: should not create duplicate schedulers", "2017-02-07T09:24:00",
	  "Ptenant:region:env:service:queue:task,e60000,bx #1 +60001 >x . #1 +60000 >x >- #1", 0 },
};

static char receipt[64];
static int64_t start_ms;

static int64_t time_of(const char *text)
{
	struct tm tm = { 0 };

	if (*text == '+')
		return start_ms + atoll(text + 1);
	assert_non_null(strptime(text, "%Y-%m-%dT%H:%M:%S", &tm));
	return timegm(&tm) * 1000LL;
}

/* A mask (queues/schedules/cron.h) of a field that is `*`, a step over all values, or a number. */
static const char *mask_of(char *fields)
{
	static const int first[FIELDS] = { 0, 0, 1, 1, 0 }, count[FIELDS] = { 60, 24, 31, 12, 7 };
	static char mask[2 + MASK_LEN + 1];
	char *at = mask, *rest = NULL, *field = strtok_r(fields, "_", &rest);

	*at++ = '=';
	for (int f = 0; f < FIELDS; f++, field = strtok_r(NULL, "_", &rest)) {
		assert_non_null(field);
		int step = field[1] == '/' ? atoi(field + 2) : 1, only = *field == '*' ? -1 : atoi(field) - first[f];
		for (int i = 0; i < count[f]; i++)
			*at++ = (only < 0 ? i % step == 0 : i == only) ? '1' : '0';
	}
	strcpy(at, "01");
	return mask;
}

static const char *given(char kept[32], const char *mark, int64_t value)
{
	snprintf(kept, 32, "%s%lld", mark, (long long)value);
	return kept;
}

/* Returns the outcome. */
static int64_t put(char *step)
{
	char texts[4][32], json_id[64], body[64], shifts[32] = "~", mask[2 + MASK_LEN + 1] = "~";
	char *rest = NULL, *id = strtok_r(step, ",", &rest);
	const char *args[] = { id,  json_id, "0", "~", "~",    mask, "~", "~", "~", "~",
			       "~", body,    "~", "~", shifts, "~",  "~", "~", NULL };

	snprintf(json_id, sizeof(json_id), "\"%s\"", id);
	snprintf(body, sizeof(body), "=%s", id);
	for (char *option; (option = strtok_r(NULL, ",", &rest));) {
		char *value = option + 1;
		if (*option == 'e')
			args[3] = given(texts[0], "=", atoll(value));
		else if (*option == 'c')
			strcpy(mask, mask_of(value)), args[4] = "=cron";
		else if (*option == 'L')
			args[15] = given(texts[1], "=", atoll(value));
		else if (*option == 'S')
			args[6] = given(texts[2], "=", time_of(value));
		else if (*option == 'E')
			args[7] = given(texts[3], "=", time_of(value));
		else if (*option == 'p')
			*option = '=', args[8] = option;
		else if (*option == 'z')
			snprintf(shifts, sizeof(shifts), "=%s", value), args[12] = "=Zone/Fixed";
		else
			snprintf(body, sizeof(body), "=%s", value);
	}
	run(&r, &queue_schedule_put_script, queue_keys("q"), args);
	return outcome(&r);
}

static int64_t of_schedule(const struct script *script, const char *id)
{
	run(&r, script, queue_keys("q"), ARGS(id));
	return outcome(&r);
}

static void assert_next(char *step, const char *name)
{
	char *rest = NULL, *id = strtok_r(step, "=", &rest);

	run(&r, &queue_schedule_get_script, queue_keys("q"), ARGS(id, ""));
	assert_int_equal(outcome(&r), 0);
	int64_t at = r.reply->element[QUEUE_SCHEDULE_GET_SCHEDULE]->element[QUEUE_SCHEDULE_NEXT_AT_MS]->integer;
	if (at != time_of(rest))
		fail_msg("%s: the next instant is %+lld ms from %s", name, (long long)(at - time_of(rest)), rest);
}

static void work(const char *wanted, const char *name)
{
	static char nonce[24];
	static int nonces;

	snprintf(nonce, sizeof(nonce), "%016d", ++nonces);
	bool has = queue_message_receive(&r, "q", 1, LONG_MS, nonce) > 0;
	const char *body = has ? received(&r, 0, RECEIVED_BODY)->str : "-", *mark = strchr(body, '=');
	const char *got = mark ? mark + 1 : body;
	if (strcmp(got, wanted) != 0)
		fail_msg("%s: a worker got %s, not %s", name, got, wanted);
	if (has)
		snprintf(receipt, sizeof(receipt), "%s", received(&r, 0, RECEIVED_RECEIPT)->str);
}

static void send(const char *step)
{
	char body[2] = { *step, '\0' };

	queue_message_send(&r, "q",
			   (struct outgoing){ .body = body, .priority = *step - '0', .delay_ms = atoll(step + 2) });
}

static void change(char *text, const char *name)
{
	switch (*text) {
	case 'P':
		assert_int_equal(put(text + 1), 1);
		return;
	case '-':
		assert_true(put(text + 1) < 0);
		return;
	case 'R':
		assert_int_equal(of_schedule(&queue_schedule_run_script, text + 1), 1);
		return;
	case 'D':
	case 'd':
		assert_int_equal(of_schedule(&queue_schedule_delete_script, text + 1), *text == 'D');
		return;
	case 's':
		send(text + 1);
		return;
	case '.':
		assert_int_equal(queue_delivery_acknowledge(&r, "q", receipt), 1);
		return;
	case '!':
		assert_int_equal(queue_delivery_reject(&r, "q", receipt, 0, "no", true), 1);
		return;
	case '*':
		assert_int_equal(queue_redrive(&r, "q", 10, NULL), 1);
		return;
	case 'u':
		queue_purge(&r, "q", "", NULL);
		return;
	}
	fail_msg("%s: there is no step %s", name, text);
}

static void step(char *text, const char *name)
{
	switch (*text) {
	case '+':
		*script_clock_us += 1000LL * atoll(text + 1);
		return;
	case 'T':
		*script_clock_us = 1000 * time_of(text + 1);
		return;
	case '>':
		work(text + 1, name);
		return;
	case 'n':
		assert_next(text + 1, name);
		return;
	case '#':
		assert_int_equal(server_command(&r, "ZCARD %s", queue_key("q", ":schedules"))->integer, atoi(text + 1));
		return;
	case ':':
		assert_int_equal(queue_contents(&r, "q"), atoi(text + 1));
		return;
	}
	change(text, name);
}

static void steps(const char *all, const char *name)
{
	char *copy = strdup(all), *rest = NULL;

	for (char *text = strtok_r(copy, " ", &rest); text; text = strtok_r(NULL, " ", &rest))
		step(text, name);
	free(copy);
}

SUITE(.open = script_stage_open_by_clock, .close = script_stage_close);

TEST(they_run_as_published)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		char first[512];
		const char *again = strchr(cases[i].steps, '|');
		size_t length = again ? (size_t)(again - cases[i].steps) : strlen(cases[i].steps);
		script_stage_empty(NULL);
		*script_clock_us = 1000 * time_of(cases[i].start);
		start_ms = *script_clock_us / 1000;
		snprintf(first, sizeof(first), "%.*s", (int)length, cases[i].steps);
		steps(first, cases[i].name);
		for (int k = 0; again && k < cases[i].times; k++)
			steps(again + 1, cases[i].name);
	}
}
