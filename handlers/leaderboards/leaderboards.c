/*
 * leaderboards: whole boards: PUT, PATCH, GET and DELETE of one, and their list. Each is one script
 * (lua/leaderboards/leaderboard_*.lua), which is called again only while a board has members to
 * drop. leaderboards/members.c has the members of boards, leaderboards/board_merge.c merges boards.
 */
#include "common/handler.h"
#include "common/key_kinds.h"
#include "common/kind.h"
#include "leaderboards/board_call.h"

static void answer_board(struct request *req, int status, struct text name, const struct reply *r)
{
	if (reply_outcome(r) < 0) {
		handler_answer_missing(req, "leaderboard", name);
		return;
	}
	board_out(answer_begin(req, status), name, r);
	answer_end(req);
}

static void on_replaced(struct request *req, const struct reply *r)
{
	const struct leaderboard_put_input *in = req->input;

	if (reply_outcome(r) == LEADERBOARD_PUT_DIFFERS)
		answer_problem(req, P_LEADERBOARD_DIMENSIONS_DIFFER,
			       "leaderboard '%s' has members, so it keeps its dimensions %s", in->name.at,
			       board_dimensions_text(req, reply_text(r, LEADERBOARD_PUT_DIMENSIONS)).at);
	else
		answer_board(req, reply_outcome(r) == LEADERBOARD_PUT_CREATED ? 201 : 200, in->name, r);
}

void leaderboard_put(struct request *req, const struct leaderboard_put_input *in)
{
	struct text parts[2 * DIMENSIONS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < in->dimensions.count; i++) {
		if (i)
			parts[n++] = TEXT("\n");
		parts[n++] = in->dimensions.items[i];
	}
	struct call *c = board_call(req, &leaderboard_put_script, in->name);
	call_text(c, arena_join(&req->arena, parts, n));
	handler_call_ttl(c, in->has_ttl_ms, in->reset_ttl_ms, in->ttl_ms);
	handler_call_ttl(c, in->has_max_members, in->reset_max_members, in->max_members);
	call_send(c, on_replaced);
}

static void on_patched(struct request *req, const struct reply *r)
{
	const struct leaderboard_patch_input *in = req->input;

	answer_board(req, 200, in->name, r);
}

void leaderboard_patch(struct request *req, const struct leaderboard_patch_input *in)
{
	struct call *c = board_call(req, &leaderboard_patch_script, in->name);

	handler_call_ttl(c, in->has_ttl_ms, in->reset_ttl_ms, in->ttl_ms);
	handler_call_ttl(c, in->has_max_members, in->reset_max_members, in->max_members);
	call_send(c, on_patched);
}

const struct kind leaderboard_kind = {
	.list = { .kind = KEY_BOARD, .is_indexed = true, .look = kind_look, .item = kind_item },
	.missing = { "leaderboard ", " does not exist" },
	.get = &leaderboard_get_script,
	.delete = &leaderboard_delete_script,
	.call = board_call,
	.out = board_out,
};
