/* measure: see measure.h. */
#include "call/measure.h"

#include <assert.h>

#include "core/loop.h"
#include "request/request.h"

/* Rounds end when nothing has scraped for five minutes. */
enum { MOST_MEASURES = 4, ROUND_US = 5000000, SCRAPES_END_US = 300000000 };

static const struct operation operation = { .id = "measure", .method = "GET" };
static const struct measure *measures[MOST_MEASURES];
static size_t measure_count;
static size_t kind_at, name_at; /* the name that is asked now or next */
static unsigned asked;          /* the birth of that name */
static bool is_asking, has_failed;
static int64_t scraped_us;
static struct loop_timer next_round;

void measure_register(const struct measure *m)
{
	assert(measure_count < MOST_MEASURES);
	measures[measure_count++] = m;
}

static void on_measured(struct request *req, const struct reply *r)
{
	const struct measure *m = measures[kind_at];

	has_failed = !r && req->result->failed;
	if (r && m->kind->names[name_at].born == asked)
		m->read(named_measured(m->kind, name_at), req, r);
}

static void ask_next(void);

static void on_ended(struct request *req)
{
	(void)req;
	is_asking = false;
	name_at++;
	ask_next();
}

static void ask(const struct measure *m)
{
	struct request *req = request_background(&operation, NULL, on_ended);

	if (!req)
		return; /* without memory this round ends */
	is_asking = true;
	asked = m->kind->names[name_at].born;
	struct call *c = m->look(req, m->kind->names[name_at].name);
	call_skip_foreign(c);
	call_may_fail(c);
	call_send(c, on_measured);
	request_background_start(req);
}

/* The next name of this round. A round ends with the last name, or when Redis did not answer. */
static void ask_next(void)
{
	while (kind_at < measure_count && name_at >= measures[kind_at]->kind->count) {
		kind_at++;
		name_at = 0;
	}
	if (kind_at < measure_count && !has_failed)
		ask(measures[kind_at]);
}

static void begin_round(struct loop_timer *t)
{
	if (loop_now_us() - scraped_us > SCRAPES_END_US)
		return;
	loop_timer_set(t, loop_now_us() + ROUND_US);
	if (is_asking)
		return;
	if (kind_at >= measure_count) /* else the last round failed: continue after that name */
		kind_at = name_at = 0;
	has_failed = false;
	ask_next();
}

void measure_scraped(void)
{
	bool is_on = false;

	for (size_t i = 0; i < measure_count; i++)
		is_on = is_on || measures[i]->kind->is_on;
	scraped_us = loop_now_us();
	if (!is_on || loop_timer_is_set(&next_round))
		return;
	next_round.expired = begin_round;
	begin_round(&next_round);
}
