#include "leaderboards/board_call.h"

#include "common/key_kinds.h"

/*
 * An element has, for each dimension, the largest score minus the score; then the arrival and the
 * member.
 */
enum { ONE_SCORE = 8, SCORE = 4, ARRIVAL = 8, EXACT_BITS = 53 };

int64_t board_score_max(size_t dimensions)
{
	return dimensions == 1 ? (INT64_C(1) << EXACT_BITS) - 1 : UINT32_MAX;
}

static size_t score_bytes(const struct board_dimensions *d)
{
	return d->count == 1 ? ONE_SCORE : SCORE;
}

static size_t place_bytes(const struct board_dimensions *d)
{
	return d->count * score_bytes(d) + ARRIVAL;
}

/* Reads a big-endian number. */
static uint64_t number_at(struct text element, size_t at, size_t bytes)
{
	uint64_t number = 0;

	for (size_t i = 0; i < bytes; i++)
		number = number << 8 | (unsigned char)element.at[at + i];
	return number;
}

struct board_dimensions board_dimensions_of(struct text lines)
{
	struct board_dimensions d = { 0 };

	while (lines.len && d.count < DIMENSIONS_MAX)
		d.names[d.count++] = text_cut(&lines, '\n');
	return d;
}

struct text board_dimensions_text(struct request *req, struct text lines)
{
	struct board_dimensions d = board_dimensions_of(lines);
	struct text parts[2 * DIMENSIONS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < d.count; i++) {
		if (i)
			parts[n++] = TEXT(", ");
		parts[n++] = d.names[i];
	}
	return arena_join(&req->arena, parts, n);
}

void board_call_keys(struct call *c, struct text board)
{
	call_key(c, KEY_BOARD, board, NULL);
	call_key(c, KEY_BOARD, board, "places");
	call_key(c, KEY_BOARD, board, "ranks");
}

void board_answer_missing(struct request *req, struct text board)
{
	answer_problem(req, P_NOT_FOUND,
		       "leaderboard '%s' does not exist; create it by PUT with its dimensions in the order that "
		       "counts, or give the score of one dimension only",
		       board.at);
}

struct call *board_call(struct request *req, const struct script *s, struct text board)
{
	struct call *c = call_script(req, s);

	board_call_keys(c, board);
	return c;
}

bool board_is_element(const struct board_dimensions *d, struct text element)
{
	return element.len >= place_bytes(d) &&
	       (d->count != 1 || number_at(element, 0, ONE_SCORE) <= (uint64_t)board_score_max(1));
}

void board_out_ranked(struct json_out *o, const struct board_dimensions *d, struct text element, int64_t position)
{
	size_t bytes = score_bytes(d), place = place_bytes(d);

	out_text(o, "member", (struct text){ element.at + place, element.len - place });
	out_int_or_null(o, "rank", position >= 0, position + 1);
	out_object(o, "scores");
	for (size_t i = 0; i < d->count; i++) {
		out_key(o, d->names[i]);
		out_int(o, NULL, board_score_max(d->count) - (int64_t)number_at(element, i * bytes, bytes));
	}
	out_close(o);
}

void board_out(struct json_out *o, struct text name, const struct reply *r)
{
	struct board_dimensions d = board_dimensions_of(reply_text(r, LEADERBOARD_DIMENSIONS));

	out_text(o, "name", name);
	out_array(o, "dimensions");
	for (size_t i = 0; i < d.count; i++)
		out_text(o, NULL, d.names[i]);
	out_close(o);
	out_int(o, "size", reply_int(r, LEADERBOARD_SIZE));
	out_int_or_null(o, "max_members", reply_int(r, LEADERBOARD_MAX_MEMBERS) > 0,
			reply_int(r, LEADERBOARD_MAX_MEMBERS));
	handler_out_expiry(o, r, LEADERBOARD_EXPIRES_AT_MS);
}
