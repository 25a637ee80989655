#include "sqs/sqs_batch.h"

#include <stdlib.h>
#include <string.h>

enum { ID_MOST = 80 };

static bool is_id(struct text id)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

	return id.len >= 1 && id.len <= ID_MOST && strspn(id.at, allowed) == id.len;
}

static bool is_repeated(const struct sqs_batch *b, struct text id)
{
	for (size_t i = 0; i + 1 < b->count; i++)
		if (text_equal(b->entries[i].id, id))
			return true;
	return false;
}

static bool read_entry(struct sqs_call *s, const struct json *entry, struct sqs_batch *b)
{
	struct text id = json_tree_string(entry, "Id");

	b->entries[b->count++] = (struct sqs_entry){ .in = entry, .id = id };
	if (!id.at)
		sqs_fail(s, SQS_MISSING_PARAMETER, "The request must contain the parameter Id of each entry.");
	else if (!is_id(id))
		sqs_fail(s, SQS_INVALID_BATCH_ENTRY_ID,
			 "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
			 "It can be at most 80 letters long.");
	else if (is_repeated(b, id))
		sqs_fail(s, SQS_BATCH_ENTRY_IDS_NOT_DISTINCT, "Id %s repeated.", id.at);
	else
		return true;
	return false;
}

bool sqs_batch_read(struct sqs_call *s, const char *kind, struct sqs_batch *out)
{
	const struct json *entries = kind ? json_tree_member(s->in, "Entries") : NULL;
	size_t count = !kind ? 1 : entries ? entries->count : 0;

	*out = (struct sqs_batch){ 0 };
	if (!count) {
		sqs_fail(s, SQS_EMPTY_BATCH_REQUEST, "There should be at least one %s in the request.", kind);
		return false;
	}
	if (count > SQS_ENTRIES_MOST) {
		sqs_fail(s, SQS_TOO_MANY_ENTRIES, "Maximum number of entries per request are %d. You have sent %zu.",
			 SQS_ENTRIES_MOST, count);
		return false;
	}
	out->entries = arena_alloc(&s->req->arena, count * sizeof(*out->entries));
	if (!out->entries) {
		sqs_fail_no_memory(s);
		return false;
	}
	if (!kind)
		out->entries[out->count++] = (struct sqs_entry){ .in = s->in, .id = TEXT("") };
	for (const struct json *e = entries ? entries->first : NULL; e; e = e->next)
		if (!read_entry(s, e, out))
			return false;
	return true;
}

bool sqs_batch_refuse(struct sqs_call *s, struct sqs_entry *e, enum sqs_fault fault, const char *message, ...)
{
	va_list args;

	va_start(args, message);
	e->has_failed = true;
	e->refusal = (struct sqs_refusal){ fault, arena_vprintf(&s->req->arena, message, args) };
	va_end(args);
	return false;
}

/* Returns the entry at a place of the list; NULL: there is none. */
static struct sqs_entry *asked_at(struct sqs_batch *b, struct text pointer)
{
	if (text_cut(&pointer, '/').len || !text_cut(&pointer, '/').len || !pointer.len)
		return NULL;
	unsigned long place = strtoul(pointer.at, NULL, 10);
	for (size_t i = 0; i < b->count; i++)
		if (b->entries[i].is_asked && place-- == 0)
			return &b->entries[i];
	return NULL;
}

size_t sqs_batch_named(struct sqs_call *s, struct sqs_batch *b, struct sqs_named named[SQS_ENTRIES_MOST])
{
	const struct json *errors =
		sqs_problem(s)->status == 400 ? json_tree_member(sqs_problem_document(s), "errors") : NULL;
	size_t count = 0;

	for (const struct json *e = errors ? errors->first : NULL; e && count < SQS_ENTRIES_MOST; e = e->next) {
		struct sqs_entry *entry = asked_at(b, json_tree_string(e, "pointer"));
		struct text detail = json_tree_string(e, "detail");
		if (entry)
			named[count++] = (struct sqs_named){ entry, detail.at ? detail : TEXT("") };
	}
	return count;
}

void sqs_batch_out_failed(struct json_out *o, const struct sqs_batch *b)
{
	bool any = false;

	for (size_t i = 0; i < b->count; i++)
		any |= b->entries[i].has_failed;
	if (!any)
		return;
	out_array(o, "Failed");
	for (size_t i = 0; i < b->count; i++) {
		const struct sqs_entry *e = &b->entries[i];
		if (!e->has_failed)
			continue;
		out_object(o, NULL);
		out_text(o, "Id", e->id);
		out_bool(o, "SenderFault", true);
		out_string(o, "Code", sqs_fault_code(e->refusal.fault));
		out_text(o, "Message", e->refusal.message);
		out_close(o);
	}
	out_close(o);
}

void sqs_batch_answer(struct sqs_call *s, const struct sqs_batch *b)
{
	struct json_out *o = sqs_answer_begin(s);

	out_array(o, "Successful");
	for (size_t i = 0; i < b->count; i++) {
		if (b->entries[i].has_failed)
			continue;
		out_object(o, NULL);
		out_text(o, "Id", b->entries[i].id);
		out_close(o);
	}
	out_close(o);
	sqs_batch_out_failed(o, b);
	sqs_answer_end(s);
}
