/*
 * geo: members at places, and who is near. Each operation is one script (lua/geo_*.lua) on Redis's own geo sets.
 *
 * Places and distances are Redis's figures: read as they come, written with the digits that read back the same.
 */
#include "handler.h"
#include "keys.h"

static const char *const units[] = { NULL, "m", "km", "mi", "ft" }; /* by the contract's enums */

static struct call *set_call(struct request *req, const struct script *s, struct text set)
{
	struct call *c = script_call(req, s);

	call_key(c, KEY_GEO, set, NULL);
	return c;
}

/* The members of an open object; items `i` to `i` + 2 are longitude, latitude and geohash. */
static void write_place(struct json_out *o, struct text member, const struct reply *r, size_t i)
{
	out_text(o, "member", member);
	out_real(o, "longitude", reply_real(r, i));
	out_real(o, "latitude", reply_real(r, i + 1));
	out_text(o, "geohash", reply_text(r, i + 2));
}

static void answer_no_member(struct request *req, struct text set, struct text member)
{
	answer_problem(req, P_NOT_FOUND, "there is no member '%s' in '%s'", member.at, set.at);
}

/* ---- PUT, GET, DELETE /geo/{set}/members/{member} ---- */

static void on_put(struct request *req, const struct reply *r)
{
	const struct geo_put_input *in = req->input;

	write_place(answer_begin(req, reply_int(r, 2) > 0 ? 201 : 200), in->member, r, 3);
	answer_end(req);
}

void geo_put(struct request *req, const struct geo_put_input *in)
{
	struct call *c = set_call(req, &geo_put_script, in->set);

	call_real(c, in->longitude);
	call_real(c, in->latitude);
	call_text(c, in->member);
	call_send(c, on_put);
}

static void on_member(struct request *req, const struct reply *r)
{
	const struct geo_member_input *in = req->input;

	if (reply_text(r, 2).len == 0) {
		answer_no_member(req, in->set, in->member);
		return;
	}
	write_place(answer_begin(req, 200), in->member, r, 2);
	answer_end(req);
}

void geo_member(struct request *req, const struct geo_member_input *in)
{
	struct call *c = set_call(req, &geo_lookup_script, in->set);

	call_text(c, in->member);
	call_send(c, on_member);
}

static void on_removed(struct request *req, const struct reply *r)
{
	const struct geo_remove_input *in = req->input;

	if (reply_int(r, 0) > 0)
		answer_empty(req, 204);
	else
		answer_no_member(req, in->set, in->member);
}

void geo_remove(struct request *req, const struct geo_remove_input *in)
{
	struct call *c = set_call(req, &geo_remove_script, in->set);

	call_text(c, in->member);
	call_send(c, on_removed);
}

/* ---- POST, GET /geo/{set}/members, POST /geo/{set}/lookup ---- */

static void on_added(struct request *req, const struct reply *r)
{
	struct json_out *o = answer_begin(req, 200);

	out_int(o, "added", reply_int(r, 2));
	out_int(o, "updated", reply_int(r, 3));
	answer_end(req);
}

void geo_add(struct request *req, const struct geo_add_input *in)
{
	struct call *c = set_call(req, &geo_add_script, in->set);

	for (size_t i = 0; i < in->members.count; i++) {
		call_real(c, in->members.items[i].longitude);
		call_real(c, in->members.items[i].latitude);
		call_text(c, in->members.items[i].member);
	}
	call_send(c, on_added);
}

static void on_lookup(struct request *req, const struct reply *r)
{
	const struct geo_lookup_input *in = req->input;
	struct json_out *o = answer_begin(req, 200);

	out_array(o, "members");
	for (size_t i = 0; i < in->members.count; i++) {
		if (reply_text(r, 2 + 3 * i).len == 0) {
			out_null(o, NULL);
			continue;
		}
		out_object(o, NULL);
		write_place(o, in->members.items[i], r, 2 + 3 * i);
		out_close(o);
	}
	out_close(o);
	answer_end(req);
}

void geo_lookup(struct request *req, const struct geo_lookup_input *in)
{
	struct call *c = set_call(req, &geo_lookup_script, in->set);

	for (size_t i = 0; i < in->members.count; i++)
		call_text(c, in->members.items[i]);
	call_send(c, on_lookup);
}

static void on_members(struct request *req, const struct reply *r)
{
	struct text cursor = reply_text(r, 2);

	if (reply_int(r, 0) < 0) {
		answer_field_problem(req, P_INVALID_VALUE, "?cursor", "must be a cursor that an earlier page gave");
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "items");
	for (size_t i = 3; i + 3 < r->count; i += 4) {
		out_object(o, NULL);
		write_place(o, reply_text(r, i), r, i + 1);
		out_close(o);
	}
	out_close(o);
	out_text(o, "cursor", text_is(cursor, "0") ? (struct text){ 0 } : cursor);
	answer_end(req);
}

void geo_members(struct request *req, const struct geo_members_input *in)
{
	struct call *c = set_call(req, &geo_members_script, in->set);

	call_text(c, in->cursor.at ? in->cursor : TEXT("0"));
	call_text(c, in->match);
	call_int(c, in->limit);
	call_send(c, on_members);
}

/* ---- GET /geo/{set}/distance ---- */

static void on_distance(struct request *req, const struct reply *r)
{
	const struct geo_distance_input *in = req->input;

	if (reply_int(r, 0) < 0) {
		answer_no_member(req, in->set, reply_text(r, 2));
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_real(o, "distance", reply_real(r, 2));
	out_string(o, "unit", units[in->unit]);
	answer_end(req);
}

void geo_distance(struct request *req, const struct geo_distance_input *in)
{
	struct call *c = set_call(req, &geo_distance_script, in->set);

	call_text(c, in->from);
	call_text(c, in->to);
	call_string(c, units[in->unit]);
	call_send(c, on_distance);
}

/* ---- GET /geo/nearby ---- */

/* True when exactly one centre and one shape are given; else the request has been answered. */
static bool is_one_centre_and_shape(struct request *req, const struct geo_nearby_input *in)
{
	bool point = in->has_longitude || in->has_latitude, box = in->has_width || in->has_height;

	if (!point && !in->member.at)
		answer_field_problem(req, P_MISSING_FIELD, "?longitude",
				     "and ?latitude are required, or ?member instead");
	else if (point && in->member.at)
		answer_field_problem(req, P_INVALID_VALUE, "?member", "cannot be given together with a point");
	else if (point && !(in->has_longitude && in->has_latitude))
		answer_field_problem(req, P_MISSING_FIELD, in->has_longitude ? "?latitude" : "?longitude",
				     "is required with the other coordinate");
	else if (!box && !in->has_radius)
		answer_field_problem(req, P_MISSING_FIELD, "?radius", "is required, or ?width and ?height instead");
	else if (box && in->has_radius)
		answer_field_problem(req, P_INVALID_VALUE, "?radius", "cannot be given together with a box");
	else if (box && !(in->has_width && in->has_height))
		answer_field_problem(req, P_MISSING_FIELD, in->has_width ? "?height" : "?width",
				     "is required with the other side");
	else
		return true;
	return false;
}

enum { FOUND_ITEMS = 5 }; /* member, distance, longitude, latitude, geohash */

static void answer_features(struct request *req, const char *unit, const struct reply *r)
{
	struct json_out *o = answer_begin(req, 200);

	req->content_type = "application/geo+json";
	out_string(o, "type", "FeatureCollection");
	out_array(o, "features");
	for (size_t i = 2; i + FOUND_ITEMS <= r->count; i += FOUND_ITEMS) {
		out_object(o, NULL);
		out_string(o, "type", "Feature");
		out_text(o, "id", reply_text(r, i));
		out_object(o, "geometry");
		out_string(o, "type", "Point");
		out_array(o, "coordinates");
		out_real(o, NULL, reply_real(r, i + 2));
		out_real(o, NULL, reply_real(r, i + 3));
		out_close(o);
		out_close(o);
		out_object(o, "properties");
		out_text(o, "member", reply_text(r, i));
		out_real(o, "distance", reply_real(r, i + 1));
		out_string(o, "unit", unit);
		out_text(o, "geohash", reply_text(r, i + 4));
		out_close(o);
		out_close(o);
	}
	out_close(o);
	answer_end(req);
}

static void on_found(struct request *req, const struct reply *r)
{
	const struct geo_nearby_input *in = req->input;

	if (reply_int(r, 0) < 0) {
		answer_no_member(req, in->set, in->member);
		return;
	}
	if (request_accepts(req, "application/geo+json")) {
		answer_features(req, units[in->unit], r);
		return;
	}
	struct json_out *o = answer_begin(req, 200);
	out_array(o, "results");
	for (size_t i = 2; i + FOUND_ITEMS <= r->count; i += FOUND_ITEMS) {
		out_object(o, NULL);
		write_place(o, reply_text(r, i), r, i + 2);
		out_real(o, "distance", reply_real(r, i + 1));
		out_close(o);
	}
	out_close(o);
	out_string(o, "unit", units[in->unit]);
	answer_end(req);
}

void geo_nearby(struct request *req, const struct geo_nearby_input *in)
{
	if (!is_one_centre_and_shape(req, in))
		return;
	struct call *c = set_call(req, &geo_search_script, in->set);
	if (in->member.at) {
		call_string(c, "member");
		call_text(c, in->member);
		call_string(c, "");
	} else {
		call_string(c, "point");
		call_real(c, in->longitude);
		call_real(c, in->latitude);
	}
	if (in->has_radius) {
		call_string(c, "radius");
		call_real(c, in->radius);
		call_string(c, "");
	} else {
		call_string(c, "box");
		call_real(c, in->width);
		call_real(c, in->height);
	}
	call_string(c, units[in->unit]);
	call_string(c, in->sort == GEO_NEARBY_SORT_DESC ? "DESC" : "ASC");
	call_int(c, in->limit);
	call_send(c, on_found);
}

/* ---- GET, DELETE /geo/{set}, GET /geo ---- */

static void write_set(struct json_out *o, struct text set, const struct reply *r)
{
	out_text(o, "set", set);
	out_int(o, "size", reply_int(r, 2));
}

static void on_looked(struct request *req, const struct reply *r)
{
	const struct geo_look_input *in = req->input;

	write_set(answer_begin(req, 200), in->set, r);
	answer_end(req);
}

void geo_look(struct request *req, const struct geo_look_input *in)
{
	call_send(set_call(req, &geo_size_script, in->set), on_looked);
}

static void on_deleted(struct request *req, const struct reply *r)
{
	const struct geo_delete_input *in = req->input;

	if (reply_int(r, 0) > 0)
		answer_empty(req, 204);
	else
		answer_problem(req, P_NOT_FOUND, "there is no set '%s'", in->set.at);
}

void geo_delete(struct request *req, const struct geo_delete_input *in)
{
	call_send(set_call(req, &geo_delete_script, in->set), on_deleted);
}

static struct call *look_one(struct request *req, struct text name, struct text part)
{
	(void)part;
	return set_call(req, &geo_size_script, name);
}

static void item_of(struct json_out *o, struct request *req, struct text name, struct text part, const struct reply *r)
{
	(void)req;
	(void)part;
	if (reply_int(r, 2) == 0)
		return;
	out_object(o, NULL);
	write_set(o, name, r);
	out_close(o);
}

void geo_list(struct request *req, const struct geo_list_input *in)
{
	static const struct list_of sets = { .kind = KEY_GEO, .look = look_one, .item = item_of };

	list_keys(req, &sets, in->match, in->cursor, in->limit);
}
