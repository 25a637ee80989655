#include "visitors/visitor_call.h"

#include <time.h>

enum { MAX_ATTEMPTS = 4, SECONDS_A_DAY = 86400 };

const double visitor_standard_error = 0.0081; /* 1.04 / sqrt(16384) */

/* ---- Days ---- */

/* Computes the range for the day `today`. Returns false if it has no day, or too many. */
static bool set_today(struct visitor_days *w, int64_t today)
{
	w->today = today;
	w->to = w->has_to ? w->asked_to : today;
	w->from = w->has_from ? w->asked_from : w->to;
	return w->from <= w->to && (w->to - w->from + 1) * w->pages <= DAYS_MAX;
}

static void answer_no_range(struct request *req, const struct visitor_days *w)
{
	if (w->from > w->to)
		answer_field_problem(req, P_OUT_OF_RANGE, w->pointer, "must not be after the last day");
	else
		answer_field_problem(req, P_OUT_OF_RANGE, w->pointer,
				     "makes the range %lld days long; %lld are allowed for %s",
				     (long long)(w->to - w->from + 1), (long long)(DAYS_MAX / w->pages),
				     w->pages > 1 ? "so many pages" : "a page");
}

/*
 * Makes the first attempt, with today by the daemon's clock. `w` must have send, pages and the
 * given days.
 */
static void send_days(struct request *req, struct visitor_days *w)
{
	req->work = w;
	if (!set_today(w, day_of_ms((int64_t)time(NULL) * 1000))) {
		if (w->has_to) {
			answer_no_range(req, w);
			return;
		}
		/* The daemon's clock may be wrong, so only Redis may refuse the range. */
		set_today(w, w->asked_from);
	}
	w->send(req, w);
}

bool visitor_day_was_right(struct request *req, const struct reply *r)
{
	struct visitor_days *w = req->work;

	if (reply_outcome(r) >= 0)
		return true;
	if (++w->attempts == MAX_ATTEMPTS)
		answer_problem(req, P_CONTENTION, "the day of Redis's clock changed during each attempt");
	else if (!set_today(w, day_of_ms(req->now_ms)))
		answer_no_range(req, w);
	else
		w->send(req, w);
	return false;
}

static struct visitor_days *days_new(struct request *req, visitor_send send, size_t pages)
{
	struct visitor_days *w = arena_alloc(&req->arena, sizeof(*w));

	if (!w)
		answer_no_memory(req, EFFECT_NONE);
	else
		*w = (struct visitor_days){ .send = send, .pages = (int64_t)pages };
	return w;
}

/* Reads a day. If it is invalid, answers 400 and returns false. */
static bool read_day(struct request *req, struct text given, const char *pointer, bool *has, int64_t *day)
{
	*has = given.at != NULL;
	return !*has || handler_day(req, given, pointer, day);
}

void visitor_call_day(struct request *req, visitor_send send, bool has_at_ms, int64_t at_ms, struct text date)
{
	struct visitor_days *w = days_new(req, send, 1);

	if (!w || !read_day(req, date, "/date", &w->has_to, &w->asked_to))
		return;
	if (w->has_to && (w->asked_to < 0 || w->asked_to >= VISITOR_DAYS_END)) {
		answer_field_problem(req, P_OUT_OF_RANGE, "/date", "must be from 1970-01-01 to 2100-01-01, not %s",
				     date.at);
		return;
	}
	if (has_at_ms) {
		w->has_to = true;
		w->asked_to = day_of_ms(at_ms);
	}
	send_days(req, w);
}

void visitor_call_range(struct request *req, visitor_send send, size_t pages, struct text from, struct text to,
			bool in_body)
{
	struct visitor_days *w = days_new(req, send, pages);

	if (!w)
		return;
	w->pointer = in_body ? "/from" : "?from";
	if (!read_day(req, from, w->pointer, &w->has_from, &w->asked_from) ||
	    !read_day(req, to, in_body ? "/to" : "?to", &w->has_to, &w->asked_to))
		return;
	send_days(req, w);
}

/* ---- Keys and answers ---- */

void visitor_call_days(struct call *c, const char *kind, struct text page, const struct visitor_days *w)
{
	char text[DAY_TEXT_SIZE];

	for (int64_t day = w->from; day <= w->to; day++) {
		day_print(day, text);
		call_key(c, kind, page, text);
	}
}

void visitor_call_total(struct call *c, const char *kind, struct text page)
{
	call_key(c, kind, page, "total");
}

void visitor_call_retention(struct call *c)
{
	call_int(c, config()->uv_retention_days * SECONDS_A_DAY);
}

void visitor_out_total(struct json_out *o, int64_t total)
{
	out_int_or_null(o, "total_count", total >= 0, total);
}

void visitor_out_range(struct json_out *o, int64_t from, int64_t to)
{
	handler_out_day(o, "from", from);
	handler_out_day(o, "to", to);
}

void visitor_out_days(struct json_out *o, const struct visitor_days *w, const struct reply *r, size_t i)
{
	out_array(o, "days");
	for (int64_t day = w->from; day <= w->to; day++) {
		out_object(o, NULL);
		handler_out_day(o, "date", day);
		out_int(o, "count", reply_int(r, i++));
		out_close(o);
	}
	out_close(o);
}
