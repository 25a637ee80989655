/*
 * The answer of a program that got a message: a line with its outcome and status, then headers, an
 * empty line and the body. Any answer ends the message in exactly one way, and the queue accepts
 * that end. A refused end would fail a whole settle request, which also has the ends of other
 * messages.
 */
#include "contract/input.h"
#include "contract/self_call.h"
#include "fuzz.h"
#include "push/push_answer.h"
#include "request/request.h"
#include "world.h"
#include "json/out.h"

/* 1 Jan 2027 */
static const int64_t now_ms = 1798761600000;

/* As in push_turn.c, in the body of a receive that waits, which has the most levels. */
static void out_end(struct json_out *o, const struct push_answer *a)
{
	out_object(o, NULL);
	out_object(o, "settle");
	out_array(o, a->verdict == PUSH_DONE ? "complete" : "reject");
	out_object(o, NULL);
	out_string(o, "receipt", "1795223759272486.2655667e4865d835.d2d7222e");
	if (a->verdict == PUSH_DONE)
		out_raw(o, "result", a->result.at ? a->result : TEXT("null"));
	else if (*a->reason)
		out_string(o, "reason", a->reason);
	if (a->retry_after_ms >= 0 && a->verdict != PUSH_DONE)
		out_int(o, "delay_ms", a->retry_after_ms);
	out_close(o);
	out_close(o);
	out_close(o);
	out_close(o);
}

static void check_settle(const struct push_answer *a)
{
	struct request *req = request_new("", 0);
	struct json_out o;

	CHECK(req);
	out_init(&o, &req->arena, 512);
	out_end(&o, a);
	req->op = self_call_operation("queue_message_receive");
	req->asked.path_values[0] = TEXT("q");
	req->asked.body = out_all(&o);
	CHECK(req->asked.body.at && input_fill(req));
	request_asker_done(req);
}

static void check(const struct push_answer *a, const struct outbound *o)
{
	bool is_fine = o->outcome == OUTBOUND_ANSWERED && o->status >= 200 && o->status < 300;

	CHECK((a->verdict == PUSH_UNREACHED) == (o->outcome == OUTBOUND_UNSENT));
	CHECK((a->verdict == PUSH_DONE) == (is_fine && !a->is_dead));
	CHECK(a->verdict != PUSH_DEAD || (a->is_dead && o->outcome == OUTBOUND_ANSWERED));
	CHECK(a->verdict != PUSH_BUSY || o->status == 429 || o->status == 503);
	CHECK(!a->result.at || (a->verdict == PUSH_DONE && a->is_json && a->result.len <= OUTBOUND_BODY_MAX));
	CHECK(a->retry_after_ms >= -1 && a->retry_after_ms <= 366LL * 24 * 3600 * 1000);
	CHECK((*a->reason == '\0') == (a->verdict == PUSH_DONE) && strlen(a->reason) < PUSH_REASON_BYTES);
	CHECK(text_is_utf8(text_of(a->reason)) && !text_has_control(text_of(a->reason)));
	check_settle(a);
}

static void take_header(struct push_answer *a, struct text line)
{
	const char *colon = memchr(line.at, ':', line.len);
	size_t len = colon ? (size_t)(colon - line.at) : line.len;
	size_t left = colon ? line.len - len - 1 : 0;
	char *value = malloc(left + 1); /* the value begins at the second byte, and nothing follows it */

	CHECK(value);
	memcpy(value + 1, colon ? colon + 1 : line.at, left);
	push_answer_header(a, (struct text){ line.at, len }, (struct text){ value + 1, left }, now_ms);
	free(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct arena arena = { 0 };
	struct outbound o = { .arena = &arena, .timeout_ms = 30000 };
	struct push_answer a;
	struct text line;

	world_open((const char *const[]){ NULL });
	if (!input_piece(&in, '\n', &line))
		return 0;
	o.outcome = (enum outbound_outcome)((unsigned char)line.at[0] % 4);
	o.status = line.len > 1 ? (int)(strtoul(line.at + 1, NULL, 10) % 1000) : 0;
	push_answer_begin(&a);
	while (line.len > 0) {
		free((char *)(uintptr_t)line.at);
		if (!input_piece(&in, '\n', &line)) {
			line = (struct text){ 0 };
			break;
		}
		take_header(&a, line);
	}
	free((char *)(uintptr_t)line.at);
	o.is_larger = in.len > OUTBOUND_BODY_MAX;
	o.answer = in.len && !o.is_larger ? arena_copy(&arena, (const char *)in.at, in.len) : (struct text){ 0 };
	push_answer_judge(&a, &o);
	check(&a, &o);
	arena_free(&arena);
	return 0;
}
