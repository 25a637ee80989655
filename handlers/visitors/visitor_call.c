/* uv_call: see visitors/visitor_call.h. */
#include "visitors/visitor_call.h"

#include <time.h>

enum { MAX_TRIES = 4, SECONDS_A_DAY = 86400 };

const double uv_standard_error = 0.0081; /* 1.04 / sqrt(16384) */

/* ---- Days ---- */

/* The days meant if today were `today`. False when there are none, or too many. */
static bool set_today(struct when *w, int64_t today)
{
	w->today = today;
	w->to = w->has_to ? w->asked_to : today;
	w->from = w->has_from ? w->asked_from : w->to;
	return w->from <= w->to && (w->to - w->from + 1) * w->pages <= DAYS_MAX;
}

static void answer_no_range(struct request *req, const struct when *w)
{
	if (w->from > w->to)
		answer_field_problem(req, P_OUT_OF_RANGE, w->pointer, "is after the last day");
	else
		answer_field_problem(req, P_OUT_OF_RANGE, w->pointer,
				     "makes %lld days; times %lld page%s that is more than %d",
				     (long long)(w->to - w->from + 1), (long long)w->pages, w->pages == 1 ? "" : "s",
				     DAYS_MAX);
}

/* The first try: today by our own clock. Takes `w`; it needs send, pages and what was asked. */
static void ask(struct request *req, struct when *w)
{
	req->work = w;
	if (!set_today(w, day_of_ms((int64_t)time(NULL) * 1000))) {
		if (w->has_to) {
			answer_no_range(req, w);
			return;
		}
		/* Our clock may be wrong: only Redis can say that there is no such range. Let it. */
		set_today(w, w->asked_from);
	}
	w->send(req, w);
}

bool when_was_right(struct request *req, const struct reply *r)
{
	struct when *w = req->work;

	if (reply_int(r, 0) >= 0)
		return true;
	if (++w->tries == MAX_TRIES)
		answer_problem(req, P_REDIS_UNAVAILABLE, "Redis's clock says another day each time");
	else if (!set_today(w, day_of_ms(req->now_ms)))
		answer_no_range(req, w);
	else
		w->send(req, w);
	return false;
}

void call_today(struct call *c, const struct when *w)
{
	if (w->has_to)
		call_string(c, "");
	else
		call_int(c, w->today);
}

static struct when *when_new(struct request *req, send_call send, size_t pages)
{
	struct when *w = arena_alloc(&req->arena, sizeof(*w));

	if (!w)
		answer_no_memory(req, EFFECT_NONE);
	else
		*w = (struct when){ .send = send, .pages = (int64_t)pages };
	return w;
}

void when_day(struct request *req, send_call send, bool has_at_ms, int64_t at_ms)
{
	struct when *w = when_new(req, send, 1);

	if (!w)
		return;
	w->has_to = has_at_ms;
	w->asked_to = day_of_ms(at_ms);
	ask(req, w);
}

/* False when a day was given that is none; then the request has been answered. */
static bool read_day(struct request *req, struct text given, const char *pointer, bool *has, int64_t *day)
{
	*has = given.at != NULL;
	if (!*has || day_parse(given, day))
		return true;
	answer_field_problem(req, P_INVALID_VALUE, pointer, "must be a day of the calendar, YYYY-MM-DD");
	return false;
}

void when_range(struct request *req, send_call send, size_t pages, struct text from, struct text to, bool in_body)
{
	struct when *w = when_new(req, send, pages);

	if (!w)
		return;
	w->pointer = in_body ? "/from" : "?from";
	if (!read_day(req, from, w->pointer, &w->has_from, &w->asked_from) ||
	    !read_day(req, to, in_body ? "/to" : "?to", &w->has_to, &w->asked_to))
		return;
	ask(req, w);
}

/* ---- Keys and answers ---- */

void call_days(struct call *c, const char *kind, struct text page, const struct when *w)
{
	char text[DAY_TEXT_SIZE];

	for (int64_t day = w->from; day <= w->to; day++) {
		day_print(day, text);
		call_key(c, kind, page, text);
	}
}

void call_retention(struct call *c)
{
	call_int(c, config()->uv_retention_days * SECONDS_A_DAY);
}

void out_day(struct json_out *o, const char *key, int64_t day)
{
	char text[DAY_TEXT_SIZE];

	day_print(day, text);
	out_string(o, key, text);
}

void out_range(struct json_out *o, int64_t from, int64_t to)
{
	out_day(o, "from", from);
	out_day(o, "to", to);
}

void out_days(struct json_out *o, const struct when *w, const struct reply *r, size_t i)
{
	out_array(o, "days");
	for (int64_t day = w->from; day <= w->to; day++) {
		out_object(o, NULL);
		out_day(o, "day", day);
		out_int(o, "count", reply_int(r, i++));
		out_close(o);
	}
	out_close(o);
}
