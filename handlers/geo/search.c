/*
 * geo_search: finds nearby members, and distances. It searches the sets one after the other, some
 * cells per call, so that Redis is not blocked. It keeps the nearest members found so far, which
 * narrow the remaining search. Each call has the keys of one set, so sets may be in any slots of a
 * Cluster.
 *
 * This file must not compute distances, or decide which members are inside the area: Redis does.
 * Distances are written with as many digits as are needed to read back the same number.
 */
#include <stdlib.h>
#include <string.h>

#include "geo/geo_call.h"
#include "geo/score.h"
#include "request/accept.h"

/* ---- GET /geo/{name}/distance ---- */

static void on_distance(struct request *req, const struct reply *r)
{
	const struct geo_distance_get_input *in = req->input;

	if (geo_is_again(req, r))
		return;
	if (reply_outcome(r) == GEO_DISTANCE_GET_ABSENT) {
		geo_answer_no_member(req, in->name, reply_text(r, GEO_DISTANCE_GET_MEMBER));
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", in->name);
	out_real(o, "distance", reply_real(r, GEO_DISTANCE_GET_DISTANCE));
	out_string(o, "unit", geo_units[in->unit]);
	answer_end(req);
}

void geo_distance_get(struct request *req, const struct geo_distance_get_input *in)
{
	if (!geo_begin(req))
		return;
	struct call *c = handler_call(req, &geo_distance_get_script, KEY_GEO, in->name);
	geo_cell_key(c, in->name, geo_cell_of(req, in->from));
	geo_cell_key(c, in->name, geo_cell_of(req, in->to));
	call_text(c, in->from);
	call_text(c, in->to);
	call_string(c, geo_units[in->unit]);
	geo_send(req, c, on_distance);
}

/* ---- The members found ---- */

enum { CELLS_A_CALL = 64, MAX_FOUND = 1000, MAX_RESTARTS = 8 };

struct geo_found {
	struct text name, member;
	double distance;
	int64_t score;
};
/*
 * The state of a search. Each page finds the members of earlier pages again, and leaves them out:
 * `skipped` is their number, and the cursor. The search asks for one member more than fits on the
 * page, which shows whether another page follows.
 */
struct geo_search {
	double longitude, latitude; /* the centre */
	size_t skipped, most;       /* most: members to find, with the skipped ones */
	size_t set, next_cell;      /* where the search continues */
	unsigned restarts;
	size_t count;
	struct geo_found *found, *spare; /* room for `most` members each */
};

static const struct geo_found *page_begin(const struct geo_search *s)
{
	return s->found + (s->skipped < s->count ? s->skipped : s->count);
}

static const struct geo_found *page_end(const struct geo_search *s, const struct geo_nearby_list_input *in)
{
	const struct geo_found *begin = page_begin(s), *end = s->found + s->count;

	return end - begin > in->limit ? begin + in->limit : end;
}

static void write_cursor(struct json_out *o, const struct geo_search *s, const struct geo_nearby_list_input *in)
{
	char digits[TEXT_DIGITS];
	bool is_last = page_end(s, in) == s->found + s->count;

	out_text_or_null(o, "next_cursor",
			 is_last ? (struct text){ 0 } : text_of_int((int64_t)s->skipped + in->limit, digits));
}

struct position {
	double longitude, latitude;
	char geohash[GEOHASH_BYTES];
};

static struct position position_of(const struct geo_found *f)
{
	struct position p;

	geo_score_position(f->score, &p.longitude, &p.latitude);
	geo_score_geohash(p.longitude, p.latitude, p.geohash);
	return p;
}

static void answer_features(struct request *req, const struct geo_search *s)
{
	const struct geo_nearby_list_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	req->answer.content_type = "application/geo+json";
	out_string(o, "type", "FeatureCollection");
	out_array(o, "features");
	for (const struct geo_found *f = page_begin(s); f < page_end(s, in); f++) {
		struct position p = position_of(f);

		out_object(o, NULL);
		out_string(o, "type", "Feature");
		out_text(o, "id", f->member);
		out_object(o, "geometry");
		out_string(o, "type", "Point");
		out_array(o, "coordinates");
		geo_write_degrees(o, NULL, p.longitude);
		geo_write_degrees(o, NULL, p.latitude);
		out_close(o);
		out_close(o);
		out_object(o, "properties");
		out_text(o, "name", f->name);
		out_text(o, "member", f->member);
		out_real(o, "distance", f->distance);
		out_string(o, "unit", geo_units[in->unit]);
		out_string(o, "geohash", p.geohash);
		out_close(o);
		out_close(o);
	}
	out_close(o);
	write_cursor(o, s, in);
	answer_end(req);
}

static void answer_found(struct request *req, const struct geo_search *s)
{
	const struct geo_nearby_list_input *in = req->input;

	if (accept_quality(req->asked.accept, req->op->other_type) >
	    accept_quality(req->asked.accept, req->op->media_type)) {
		answer_features(req, s);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "items");
	for (const struct geo_found *f = page_begin(s); f < page_end(s, in); f++) {
		struct position p = position_of(f);

		out_object(o, NULL);
		out_text(o, "name", f->name);
		out_text(o, "member", f->member);
		geo_write_degrees(o, "longitude", p.longitude);
		geo_write_degrees(o, "latitude", p.latitude);
		out_string(o, "geohash", p.geohash);
		out_real(o, "distance", f->distance);
		out_close(o);
	}
	out_close(o);
	out_string(o, "unit", geo_units[in->unit]);
	write_cursor(o, s, in);
	answer_end(req);
}

static bool is_before(const struct geo_nearby_list_input *in, double a, double b)
{
	return in->order == GEO_NEARBY_LIST_ORDER_DESC ? a > b : a < b;
}

/* Returns true for the member at the centre, if it is to be left out. */
static bool is_left_out(const struct geo_nearby_list_input *in, const struct geo_search *s, struct text member)
{
	return in->exclude_member && s->set == 0 && text_equal(member, in->member);
}

/* Merges the members of a reply into the members found so far; both are sorted. */
static void merge(struct request *req, struct geo_search *s, const struct reply *r)
{
	const struct geo_nearby_list_input *in = req->input;
	struct geo_found *into = s->spare;
	size_t old = 0, count = 0, at = GEO_SEARCH_FOUND;

	while (count < s->most && (old < s->count || at < r->count)) {
		double distance = reply_real(r, at + GEO_FOUND_DISTANCE);
		if (at >= r->count || (old < s->count && !is_before(in, distance, s->found[old].distance))) {
			into[count++] = s->found[old++];
			continue;
		}
		struct text member = reply_text(r, at + GEO_FOUND_MEMBER);
		if (!is_left_out(in, s, member))
			into[count++] = (struct geo_found){
				.name = in->name.items[s->set],
				.member = arena_copy(&req->arena, member.at, member.len),
				.distance = distance,
				.score = reply_int(r, at + GEO_FOUND_SCORE),
			};
		at += GEO_FOUND_ITEMS;
	}
	s->spare = s->found;
	s->found = into;
	s->count = count;
}

/* ---- Set by set, cell by cell ---- */

static void send_step(struct request *req);

/* Returns true if the set is also named earlier. */
static bool is_repeated(const struct geo_nearby_list_input *in, size_t set)
{
	for (size_t i = 0; i < set; i++)
		if (text_equal(in->name.items[i], in->name.items[set]))
			return true;
	return false;
}

static void begin_set(struct request *req, size_t set)
{
	const struct geo_nearby_list_input *in = req->input;
	struct geo_work *w = req->work;
	struct geo_search *s = w->more;

	while (set < in->name.count && is_repeated(in, set))
		set++;
	if (set == in->name.count) {
		answer_found(req, s);
		return;
	}
	s->set = set;
	s->next_cell = 0;
	w->cells = GEO_DEFAULT_CELLS;
	w->repeats = 0;
	send_step(req);
}

/*
 * The set has another number of cells. If some cells were searched already, the set was deleted and
 * made again.
 */
static void search_again(struct request *req)
{
	struct geo_search *s = ((struct geo_work *)req->work)->more;

	if (s->next_cell == 0) {
		send_step(req);
	} else if (++s->restarts > MAX_RESTARTS) {
		answer_problem(req, P_CONTENTION, "a set was rebuilt during each of several attempts");
	} else {
		s->count = 0;
		begin_set(req, 0);
	}
}

static void on_step(struct request *req, const struct reply *r)
{
	struct geo_work *w = req->work;
	struct geo_search *s = w->more;

	if (geo_is_again(req, r))
		return;
	int64_t done = reply_int(r, GEO_SEARCH_DONE);
	merge(req, s, r);
	s->next_cell += done > 0 ? (size_t)done : 1;
	if (req->arena.failed)
		answer_no_memory(req, EFFECT_NONE);
	else if (s->next_cell >= (size_t)w->cells)
		begin_set(req, s->set + 1);
	else
		send_step(req);
}

static void call_shape(struct call *c, const struct geo_nearby_list_input *in, const struct geo_search *s)
{
	call_string(c, in->has_radius ? "radius" : "box");
	call_real(c, in->has_radius ? in->radius : in->width);
	if (in->has_radius)
		call_string(c, "");
	else
		call_real(c, in->height);
	call_string(c, geo_units[in->unit]);
	call_string(c, in->order == GEO_NEARBY_LIST_ORDER_DESC ? "DESC" : "ASC");
	call_int(c, (int64_t)s->most + (in->exclude_member && s->set == 0));
}

static void send_step(struct request *req)
{
	const struct geo_nearby_list_input *in = req->input;
	const struct geo_work *w = req->work;
	const struct geo_search *s = w->more;
	struct text name = in->name.items[s->set];
	struct call *c = handler_call(req, &geo_search_script, KEY_GEO, name);

	for (size_t i = s->next_cell; i < (size_t)w->cells && i < s->next_cell + CELLS_A_CALL; i++)
		geo_cell_key(c, name, i);
	geo_call_position(c, s->longitude, s->latitude);
	call_shape(c, in, s);
	if (s->count == s->most)
		call_real(c, s->found[s->count - 1].distance);
	else
		call_string(c, "");
	geo_send(req, c, on_step);
}

static void on_centre(struct request *req, const struct reply *r)
{
	const struct geo_nearby_list_input *in = req->input;
	struct geo_work *w = req->work;
	struct geo_search *s = w->more;

	if (geo_is_again(req, r))
		return;
	if (!geo_is_place(r, GEO_MEMBER_LOOKUP_PLACES)) {
		geo_answer_no_member(req, in->name.items[0], in->member);
		return;
	}
	s->longitude = reply_real(r, GEO_MEMBER_LOOKUP_PLACES + GEO_PLACE_LONGITUDE);
	s->latitude = reply_real(r, GEO_MEMBER_LOOKUP_PLACES + GEO_PLACE_LATITUDE);
	w->again = search_again;
	send_step(req);
}

/* ---- GET /geo/nearby ---- */

/* Returns true if exactly one centre and one shape are given, else answers 400. */
static bool is_one_centre_and_shape(struct request *req, const struct geo_nearby_list_input *in)
{
	bool point = in->has_longitude || in->has_latitude, box = in->has_width || in->has_height;

	if (!point && !in->member.at)
		answer_field_problem(req, P_MISSING_FIELD, "?longitude",
				     "is required together with ?latitude, unless ?member is given");
	else if (point && in->member.at)
		answer_field_problem(req, P_INVALID_VALUE, "?member", "cannot be combined with a point");
	else if (point && in->exclude_member)
		answer_field_problem(req, P_INVALID_VALUE, "?exclude_member", "requires ?member");
	else if (point && !(in->has_longitude && in->has_latitude))
		answer_field_problem(req, P_MISSING_FIELD, in->has_longitude ? "?latitude" : "?longitude",
				     "is required with the other coordinate");
	else if (!box && !in->has_radius)
		answer_field_problem(req, P_MISSING_FIELD, "?radius",
				     "is required, unless ?width and ?height are given");
	else if (box && in->has_radius)
		answer_field_problem(req, P_INVALID_VALUE, "?radius", "cannot be combined with a box");
	else if (box && !(in->has_width && in->has_height))
		answer_field_problem(req, P_MISSING_FIELD, in->has_width ? "?height" : "?width",
				     "is required with the other side");
	else
		return true;
	return false;
}

/* Returns false if the text is not a cursor. */
static bool read_cursor(const struct geo_nearby_list_input *in, struct geo_search *s)
{
	size_t digits = in->cursor.at ? strspn(in->cursor.at, "0123456789") : 0;

	if (in->cursor.at && (digits != in->cursor.len || digits > 3))
		return false;
	s->skipped = in->cursor.at ? strtoul(in->cursor.at, NULL, 10) : 0;
	s->most = s->skipped + (size_t)in->limit + 1;
	if (s->most > MAX_FOUND)
		s->most = MAX_FOUND;
	return s->skipped < MAX_FOUND;
}

void geo_nearby_list(struct request *req, const struct geo_nearby_list_input *in)
{
	if (!is_one_centre_and_shape(req, in) || !geo_begin(req))
		return;
	struct geo_work *w = req->work;
	struct geo_search s = { .longitude = in->longitude, .latitude = in->latitude };

	if (!read_cursor(in, &s)) {
		handler_answer_cursor(req);
		return;
	}
	s.found = arena_alloc(&req->arena, 2 * s.most * sizeof(*s.found));
	w->more = arena_alloc(&req->arena, sizeof(s));
	if (!s.found || !w->more) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	s.spare = s.found + s.most;
	*(struct geo_search *)w->more = s;
	if (in->member.at) {
		geo_call_lookup(req, in->name.items[0], in->member, on_centre);
	} else {
		w->again = search_again;
		send_step(req);
	}
}
