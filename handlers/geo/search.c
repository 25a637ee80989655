/*
 * geo_search: which members are near, and distances. A set that is one sorted set is searched by
 * one script; of one that is split some cells are searched at a time, no longer than Redis may be
 * held, and the nearest of all are kept here.
 */
#include "geo/geo_call.h"

/* ---- GET /geo/{set}/distance ---- */

static void on_distance(struct request *req, const struct reply *r)
{
	const struct geo_distance_get_input *in = req->input;

	if (geo_is_again(req, r))
		return;
	if (reply_int(r, 0) < 0) {
		geo_answer_no_member(req, in->set, reply_text(r, 2));
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_real(o, "distance", reply_real(r, 2));
	out_string(o, "unit", geo_units[in->unit]);
	answer_end(req);
}

static void send_distance(struct request *req)
{
	const struct geo_distance_get_input *in = req->input;
	struct call *c = handler_call(req, &geo_distance_get_script, KEY_GEO, in->set);

	geo_cell_key(req, c, in->set, geo_cell_of(req, in->from));
	geo_cell_key(req, c, in->set, geo_cell_of(req, in->to));
	call_text(c, in->from);
	call_text(c, in->to);
	call_string(c, geo_units[in->unit]);
	geo_send(req, c, on_distance);
}

void geo_distance_get(struct request *req, const struct geo_distance_get_input *in)
{
	(void)in;
	geo_begin(req, send_distance);
}

/* ---- What was found ---- */

enum { FOUND_ITEMS = 5, CELLS_A_CALL = 64 }; /* an item: member, distance, longitude, latitude, geohash */

struct geo_found {
	struct text member, geohash;
	double distance, longitude, latitude;
};

/* A search under way. */
struct geo_search {
	double longitude, latitude; /* of the centre */
	size_t next_cell, count;
	struct geo_found *found, *spare; /* room for as many as are asked for, each */
};

static void answer_features(struct request *req, const struct geo_search *s)
{
	const struct geo_nearby_list_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	req->content_type = "application/geo+json";
	out_string(o, "type", "FeatureCollection");
	out_array(o, "features");
	for (const struct geo_found *f = s->found; f < s->found + s->count; f++) {
		out_object(o, NULL);
		out_string(o, "type", "Feature");
		out_text(o, "id", f->member);
		out_object(o, "geometry");
		out_string(o, "type", "Point");
		out_array(o, "coordinates");
		geo_write_degrees(o, NULL, f->longitude);
		geo_write_degrees(o, NULL, f->latitude);
		out_close(o);
		out_close(o);
		out_object(o, "properties");
		out_text(o, "member", f->member);
		out_real(o, "distance", f->distance);
		out_string(o, "unit", geo_units[in->unit]);
		out_text(o, "geohash", f->geohash);
		out_close(o);
		out_close(o);
	}
	out_close(o);
	answer_end(req);
}

static void answer_found(struct request *req, const struct geo_search *s)
{
	const struct geo_nearby_list_input *in = req->input;

	if (request_accepts(req, req->op->other_type) > request_accepts(req, req->op->media_type)) {
		answer_features(req, s);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "results");
	for (const struct geo_found *f = s->found; f < s->found + s->count; f++) {
		out_object(o, NULL);
		out_text(o, "member", f->member);
		geo_write_degrees(o, "longitude", f->longitude);
		geo_write_degrees(o, "latitude", f->latitude);
		out_text(o, "geohash", f->geohash);
		out_real(o, "distance", f->distance);
		out_close(o);
	}
	out_close(o);
	out_string(o, "unit", geo_units[in->unit]);
	answer_end(req);
}

static bool is_before(const struct geo_nearby_list_input *in, double a, double b)
{
	return in->sort == GEO_NEARBY_LIST_SORT_DESC ? a > b : a < b;
}

/*
 * Those of a reply, from item `at` on, come between those that were found so far; both are in
 * order.
 */
static void merge(struct request *req, struct geo_search *s, const struct reply *r, size_t at)
{
	const struct geo_nearby_list_input *in = req->input;
	struct geo_found *into = s->spare;
	size_t old = 0, count = 0;

	for (; count < (size_t)in->limit && (old < s->count || at + FOUND_ITEMS <= r->count); count++) {
		bool is_more = at + FOUND_ITEMS <= r->count;
		if (!is_more || (old < s->count && !is_before(in, reply_real(r, at + 1), s->found[old].distance))) {
			into[count] = s->found[old++];
			continue;
		}
		struct text member = reply_text(r, at), geohash = reply_text(r, at + 4);
		into[count] = (struct geo_found){
			.member = arena_copy(&req->arena, member.at, member.len),
			.geohash = arena_copy(&req->arena, geohash.at, geohash.len),
			.distance = reply_real(r, at + 1),
			.longitude = reply_real(r, at + 2),
			.latitude = reply_real(r, at + 3),
		};
		at += FOUND_ITEMS;
	}
	s->spare = s->found;
	s->found = into;
	s->count = count;
}

/* ---- A set that is split ---- */

static void send_step(struct request *req);

static void on_step(struct request *req, const struct reply *r)
{
	struct geo_work *w = req->work;
	struct geo_search *s = w->more;

	if (geo_is_again(req, r))
		return;
	merge(req, s, r, 3);
	s->next_cell += reply_int(r, 2) > 0 ? (size_t)reply_int(r, 2) : 1;
	if (req->arena.failed)
		answer_no_memory(req, EFFECT_NONE);
	else if (s->next_cell >= (size_t)w->cells)
		answer_found(req, s);
	else
		send_step(req);
}

static void tell_shape(struct call *c, const struct geo_nearby_list_input *in)
{
	call_string(c, in->has_radius ? "radius" : "box");
	call_real(c, in->has_radius ? in->radius : in->width);
	if (in->has_radius)
		call_string(c, "");
	else
		call_real(c, in->height);
	call_string(c, geo_units[in->unit]);
	call_string(c, in->sort == GEO_NEARBY_LIST_SORT_DESC ? "DESC" : "ASC");
	call_int(c, in->limit);
}

static void send_step(struct request *req)
{
	const struct geo_nearby_list_input *in = req->input;
	const struct geo_work *w = req->work;
	const struct geo_search *s = w->more;
	struct call *c = handler_call(req, &geo_search_cells_script, KEY_GEO, in->set);

	for (size_t i = s->next_cell; i < (size_t)w->cells && i < s->next_cell + CELLS_A_CALL; i++)
		geo_cell_key(req, c, in->set, i);
	geo_call_position(c, s->longitude, s->latitude);
	tell_shape(c, in);
	if (s->count == (size_t)in->limit)
		call_real(c, s->found[s->count - 1].distance);
	else
		call_string(c, "");
	geo_send(req, c, on_step);
}

static void on_centre(struct request *req, const struct reply *r)
{
	const struct geo_nearby_list_input *in = req->input;
	struct geo_search *s = ((struct geo_work *)req->work)->more;

	if (geo_is_again(req, r))
		return;
	if (reply_text(r, 2).len == 0) {
		geo_answer_no_member(req, in->set, in->member);
		return;
	}
	s->longitude = reply_real(r, 2);
	s->latitude = reply_real(r, 3);
	send_step(req);
}

/* ---- GET /geo/nearby ---- */

/* True when exactly one centre and one shape are given; else the request has been answered. */
static bool is_one_centre_and_shape(struct request *req, const struct geo_nearby_list_input *in)
{
	bool point = in->has_longitude || in->has_latitude, box = in->has_width || in->has_height;

	if (!point && !in->member.at)
		answer_field_problem(req, P_MISSING_FIELD, "?longitude",
				     "and ?latitude are required, or ?member instead");
	else if (point && in->member.at)
		answer_field_problem(req, P_INVALID_VALUE, "?member", "cannot be combined with a point");
	else if (point && !(in->has_longitude && in->has_latitude))
		answer_field_problem(req, P_MISSING_FIELD, in->has_longitude ? "?latitude" : "?longitude",
				     "is required with the other coordinate");
	else if (!box && !in->has_radius)
		answer_field_problem(req, P_MISSING_FIELD, "?radius", "is required, or ?width and ?height instead");
	else if (box && in->has_radius)
		answer_field_problem(req, P_INVALID_VALUE, "?radius", "cannot be combined with a box");
	else if (box && !(in->has_width && in->has_height))
		answer_field_problem(req, P_MISSING_FIELD, in->has_width ? "?height" : "?width",
				     "is required with the other side");
	else
		return true;
	return false;
}

static void on_found(struct request *req, const struct reply *r)
{
	const struct geo_nearby_list_input *in = req->input;
	struct geo_search *s = ((struct geo_work *)req->work)->more;

	if (geo_is_again(req, r))
		return;
	if (reply_int(r, 0) < 0) {
		geo_answer_no_member(req, in->set, in->member);
		return;
	}
	merge(req, s, r, 2);
	if (req->arena.failed)
		answer_no_memory(req, EFFECT_NONE);
	else
		answer_found(req, s);
}

static void send_whole(struct request *req)
{
	const struct geo_nearby_list_input *in = req->input;
	struct call *c = handler_call(req, &geo_search_script, KEY_GEO, in->set);

	if (in->member.at) {
		call_string(c, "member");
		call_text(c, in->member);
		call_string(c, "");
	} else {
		call_string(c, "point");
		geo_call_position(c, in->longitude, in->latitude);
	}
	tell_shape(c, in);
	call_send(c, on_found);
}

static struct geo_search *search_new(struct request *req)
{
	const struct geo_nearby_list_input *in = req->input;
	struct geo_search *s = arena_alloc(&req->arena, sizeof(*s));
	struct geo_found *room = arena_alloc(&req->arena, 2 * (size_t)in->limit * sizeof(*room));

	if (!s || !room)
		return NULL;
	*s = (struct geo_search){ .longitude = in->longitude, .latitude = in->latitude };
	s->found = room;
	s->spare = room + in->limit;
	return s;
}

static void begin_search(struct request *req)
{
	const struct geo_nearby_list_input *in = req->input;
	struct geo_work *w = req->work;

	w->more = search_new(req);
	if (!w->more)
		answer_no_memory(req, EFFECT_NONE);
	else if (!w->cells)
		send_whole(req);
	else if (in->member.at)
		geo_call_lookup(req, in->set, in->member, on_centre);
	else
		send_step(req);
}

void geo_nearby_list(struct request *req, const struct geo_nearby_list_input *in)
{
	if (is_one_centre_and_shape(req, in))
		geo_begin(req, begin_search);
}
