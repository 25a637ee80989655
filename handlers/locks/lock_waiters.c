/* lock_waiters: see locks/lock_waiters.h. The script is lua/locks/lock_waiter_list.lua. */
#include "locks/lock_waiters.h"

#include "common/key_kinds.h"
#include "core/percent.h"
#include "locks/lock_call.h"
#include "locks/lock_quorum.h"
#include "wait/ticket.h"

struct text lock_ticket_tail(struct request *req, struct text owner, bool is_shared)
{
	char *tail = arena_alloc(&req->arena, 3 * owner.len + sizeof(".x"));
	size_t len = 0;

	if (!tail)
		return TEXT("");
	if (owner.len) {
		len = percent_encode(owner, tail);
		tail[len++] = '.';
	}
	tail[len++] = is_shared ? 's' : 'x';
	tail[len] = '\0';
	return (struct text){ tail, len };
}

static void out_waiter(struct json_out *o, struct request *req, struct text ticket, int64_t arrived_us,
		       struct text offered_to)
{
	struct text tail = ticket_tail(ticket), owner = { 0 };

	if (tail.len > 2) {
		owner = arena_copy(&req->arena, tail.at, tail.len - 2);
		if (owner.at && !percent_decode((char *)owner.at, &owner.len))
			owner = (struct text){ 0 };
	}
	out_object(o, NULL);
	lock_out_owner(o, owner);
	out_string(o, "mode", tail.len && tail.at[tail.len - 1] == 's' ? "shared" : "exclusive");
	out_int(o, "waiting_ms", req->now_ms > arrived_us / 1000 ? req->now_ms - arrived_us / 1000 : 0);
	out_bool(o, "offered", text_equal(ticket, offered_to));
	out_close(o);
}

static void on_listed(struct request *req, const struct reply *r)
{
	const struct lock_waiter_list_input *in = req->input;
	size_t end = LOCK_WAITER_LIST_WAITERS + LOCK_WAITER_ITEMS * (size_t)in->limit;
	struct text offered_to = reply_text(r, LOCK_WAITER_LIST_OFFERED_TO);
	struct json_out *o = answer_begin(req, 200);

	out_array(o, "items");
	for (size_t i = LOCK_WAITER_LIST_WAITERS; i < r->count && i < end; i += LOCK_WAITER_ITEMS)
		out_waiter(o, req, reply_text(r, i + LOCK_WAITER_TICKET), reply_int(r, i + LOCK_WAITER_ARRIVED_AT_US),
			   offered_to);
	out_close(o);
	size_t last = end - LOCK_WAITER_ITEMS;
	handler_out_cursor(o, r->count > end, reply_int(r, last + LOCK_WAITER_ARRIVED_AT_US));
	answer_end(req);
}

void lock_waiter_list(struct request *req, const struct lock_waiter_list_input *in)
{
	static const char *const parts[] = { "waiters", NULL };
	int64_t after_us;

	if (lock_quorum_has_no(req, "the list of waiters") || !handler_cursor(req, in->cursor, &after_us))
		return;
	struct call *c = call_script(req, &lock_waiter_list_script);
	lock_call_keys(c, in->name, parts);
	call_int(c, after_us);
	call_int(c, in->limit);
	call_send(c, on_listed);
}
