/*
 * uv: unique visitors (sketches) and page views (counters), one key a page and UTC day. Each operation is one script
 * (lua/uv_*.lua, lua/pv_*.lua).
 *
 * Which day today is, Redis decides. The daemon takes its own clock's day, the script refuses it when Redis has another
 * and tells its time, and the call is made once more: with clocks that agree, which is nearly always, it is one trip.
 */
#include <time.h>

#include "days.h"
#include "handler.h"
#include "keys.h"

enum { MAX_KEYS = 400, MAX_TRIES = 4, SECONDS_A_DAY = 86400 };

static const double standard_error = 0.0081; /* 1.04 / sqrt(16384) */

/* What of a call depends on today; in the request's arena. */
struct when;
typedef void (*send_call)(struct request *req, struct when *w);
struct when {
	send_call send;
	bool has_from, has_to; /* as asked; a single day has `to` only */
	int64_t asked_from, asked_to;
	const char *pointer; /* of the range's start, for problems */
	int64_t pages;       /* keys a day */
	int64_t today;       /* taken for today so far */
	int64_t from, to;    /* with that today */
	int tries;
};

/* ---- Days ---- */

/* The days meant if today were `today`. False when there are none, or too many. */
static bool set_today(struct when *w, int64_t today)
{
	w->today = today;
	w->to = w->has_to ? w->asked_to : today;
	w->from = w->has_from ? w->asked_from : w->to;
	return w->from <= w->to && (w->to - w->from + 1) * w->pages <= MAX_KEYS;
}

static void answer_no_range(struct request *req, const struct when *w)
{
	if (w->from > w->to)
		answer_field_problem(req, P_OUT_OF_RANGE, w->pointer, "is after the last day");
	else
		answer_field_problem(req, P_OUT_OF_RANGE, w->pointer,
				     "makes %lld days; times %lld page%s that is more than %d",
				     (long long)(w->to - w->from + 1), (long long)w->pages, w->pages == 1 ? "" : "s",
				     MAX_KEYS);
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

/* True when the script did its work; else it was asked again, or the request answered. */
static bool day_was_right(struct request *req, const struct reply *r)
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

/* The day that was taken for today, for a script to check; nothing when the call does not depend on it. */
static void call_today(struct call *c, const struct when *w)
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
		answer_problem(req, P_OVERLOADED, "the daemon is out of memory");
	else
		*w = (struct when){ .send = send, .pages = (int64_t)pages };
	return w;
}

static void ask_day(struct request *req, send_call send, bool has_at_ms, int64_t at_ms)
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

/* `in_body`: where from and to were given. */
static void ask_range(struct request *req, send_call send, size_t pages, struct text from, struct text to, bool in_body)
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

static void call_days(struct call *c, const char *kind, struct text page, const struct when *w)
{
	char text[DAY_TEXT_SIZE];

	for (int64_t day = w->from; day <= w->to; day++) {
		day_print(day, text);
		call_key(c, kind, page, text);
	}
}

static void call_retention(struct call *c)
{
	call_int(c, config()->uv_retention_days * SECONDS_A_DAY);
}

static void write_day(struct json_out *o, const char *key, int64_t day)
{
	char text[DAY_TEXT_SIZE];

	day_print(day, text);
	out_string(o, key, text);
}

static void write_range(struct json_out *o, int64_t from, int64_t to)
{
	write_day(o, "from", from);
	write_day(o, "to", to);
}

/* `days`, an entry for each; their counts begin at item `i`. */
static void write_days(struct json_out *o, const struct when *w, const struct reply *r, size_t i)
{
	out_array(o, "days");
	for (int64_t day = w->from; day <= w->to; day++) {
		out_object(o, NULL);
		write_day(o, "day", day);
		out_int(o, "count", reply_int(r, i++));
		out_close(o);
	}
	out_close(o);
}

/* ---- POST, GET /uv/{page} ---- */

static void on_visited(struct request *req, const struct reply *r)
{
	if (!day_was_right(req, r))
		return;
	struct json_out *o = answer_begin(req, 200);
	out_bool(o, "changed", reply_int(r, 2) > 0);
	write_day(o, "day", reply_int(r, 3));
	answer_end(req);
}

static void send_visitors(struct request *req, struct when *w)
{
	const struct uv_add_input *in = req->input;
	struct call *c = script_call(req, &uv_add_script);

	call_days(c, KEY_UV, in->page, w);
	call_int(c, w->to);
	call_today(c, w);
	call_retention(c);
	for (size_t i = 0; i < in->visitors.count; i++)
		call_text(c, in->visitors.items[i]);
	call_send(c, on_visited);
}

void uv_add(struct request *req, const struct uv_add_input *in)
{
	ask_day(req, send_visitors, in->has_at_ms, in->at_ms);
}

static void on_counted(struct request *req, const struct reply *r)
{
	const struct uv_count_input *in = req->input;
	const struct when *w = req->work;

	if (!day_was_right(req, r))
		return;
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "page", in->page);
	write_range(o, w->from, w->to);
	out_int(o, "count", reply_int(r, 2));
	out_real(o, "standard_error", standard_error);
	write_days(o, w, r, 3);
	answer_end(req);
}

static void send_count(struct request *req, struct when *w)
{
	const struct uv_count_input *in = req->input;
	struct call *c = script_call(req, &uv_count_script);

	call_days(c, KEY_UV, in->page, w);
	call_today(c, w);
	call_int(c, 1);
	call_send(c, on_counted);
}

void uv_count(struct request *req, const struct uv_count_input *in)
{
	ask_range(req, send_count, 1, in->from, in->to, false);
}

/* ---- GET /uv ---- */

static void on_union(struct request *req, const struct reply *r)
{
	const struct uv_union_input *in = req->input;
	const struct when *w = req->work;

	if (!day_was_right(req, r))
		return;
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "pages");
	for (size_t i = 0; i < in->pages.count; i++) {
		out_object(o, NULL);
		out_text(o, "page", in->pages.items[i]);
		out_int(o, "count", reply_int(r, 3 + i));
		out_close(o);
	}
	out_close(o);
	write_range(o, w->from, w->to);
	out_int(o, "count", reply_int(r, 2));
	out_real(o, "standard_error", standard_error);
	answer_end(req);
}

static void send_union(struct request *req, struct when *w)
{
	const struct uv_union_input *in = req->input;
	struct call *c = script_call(req, &uv_count_script);

	for (size_t i = 0; i < in->pages.count; i++)
		call_days(c, KEY_UV, in->pages.items[i], w);
	call_today(c, w);
	call_int(c, w->to - w->from + 1);
	call_send(c, on_union);
}

void uv_union(struct request *req, const struct uv_union_input *in)
{
	ask_range(req, send_union, in->pages.count, in->from, in->to, false);
}

/* ---- GET /uv/pages ---- */

static void item_of(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r)
{
	(void)req;
	(void)part;
	(void)r;
	out_object(o, NULL);
	out_text(o, "page", name);
	out_close(o);
}

void uv_pages(struct request *req, const struct uv_pages_input *in)
{
	static const struct list_of pages = {
		.kind = KEY_UV,
		.part_pattern = ":\?\?\?\?-\?\?-\?\?",
		.once_a_name = true,
		.item = item_of,
	};

	list_keys(req, &pages, in->match, in->cursor, in->limit);
}

/* ---- POST /uv/{page}/merge ---- */

static void on_merged(struct request *req, const struct reply *r)
{
	const struct uv_merge_input *in = req->input;

	if (!day_was_right(req, r))
		return;
	/* The range as the script tells it: a replay answers the days of the first time. */
	int64_t from = reply_int(r, 3), days = reply_int(r, 4);
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "page", in->page);
	write_range(o, from, from + days - 1);
	out_int(o, "days", reply_int(r, 2));
	answer_end(req);
}

static void send_merge(struct request *req, struct when *w)
{
	const struct uv_merge_input *in = req->input;
	struct call *c = script_call(req, &uv_merge_script);

	call_days(c, KEY_UV, in->page, w);
	for (size_t i = 0; i < in->sources.count; i++)
		call_days(c, KEY_UV, in->sources.items[i], w);
	call_today(c, w);
	call_int(c, w->to - w->from + 1);
	call_retention(c);
	call_int(c, w->from);
	call_send(c, on_merged);
}

void uv_merge(struct request *req, const struct uv_merge_input *in)
{
	ask_range(req, send_merge, in->sources.count + 1, in->from, in->to, true);
}

/* ---- POST, GET /pv/{page} ---- */

static void on_viewed(struct request *req, const struct reply *r)
{
	const struct pv_add_input *in = req->input;

	if (!day_was_right(req, r))
		return;
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "page", in->page);
	write_day(o, "day", reply_int(r, 3));
	out_int(o, "count", reply_int(r, 2));
	answer_end(req);
}

static void send_views(struct request *req, struct when *w)
{
	const struct pv_add_input *in = req->input;
	struct call *c = script_call(req, &pv_add_script);

	call_days(c, KEY_PV, in->page, w);
	call_int(c, w->to);
	call_today(c, w);
	call_retention(c);
	call_int(c, in->by);
	call_send(c, on_viewed);
}

void pv_add(struct request *req, const struct pv_add_input *in)
{
	ask_day(req, send_views, in->has_at_ms, in->at_ms);
}

static void on_views(struct request *req, const struct reply *r)
{
	const struct pv_count_input *in = req->input;
	const struct when *w = req->work;
	int64_t sum = 0;

	if (!day_was_right(req, r))
		return;
	for (size_t i = 2; i < r->count; i++)
		if (__builtin_add_overflow(sum, reply_int(r, i), &sum))
			sum = INT64_MAX;
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "page", in->page);
	write_range(o, w->from, w->to);
	out_int(o, "count", sum);
	write_days(o, w, r, 2);
	answer_end(req);
}

static void send_view_count(struct request *req, struct when *w)
{
	const struct pv_count_input *in = req->input;
	struct call *c = script_call(req, &pv_count_script);

	call_days(c, KEY_PV, in->page, w);
	call_today(c, w);
	call_send(c, on_views);
}

void pv_count(struct request *req, const struct pv_count_input *in)
{
	ask_range(req, send_view_count, 1, in->from, in->to, false);
}
