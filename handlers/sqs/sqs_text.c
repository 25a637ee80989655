#include "sqs/sqs_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest.h"
#include "core/hex.h"
#include "sqs/sqs_call.h"
#include "json/read.h"

enum { LEVELS_AROUND = 3 /* of a body in the request of a batch */ };

bool sqs_text_is_allowed(struct text t)
{
	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.at[i];
		if (c < ' ' && c != '\t' && c != '\n' && c != '\r')
			return false;
		if (c == 0xEF && (memcmp(t.at + i, "\xEF\xBF\xBE", 3) == 0 || memcmp(t.at + i, "\xEF\xBF\xBF", 3) == 0))
			return false; /* U+FFFE, U+FFFF */
	}
	return true;
}

static bool is_composed(struct json_out *o, struct text t)
{
	bool may_be = t.len >= 2 &&
		      ((t.at[0] == '{' && t.at[t.len - 1] == '}') || (t.at[0] == '[' && t.at[t.len - 1] == ']'));

	return may_be && json_read_is_valid_within(o->arena, t, LEVELS_AROUND);
}

void sqs_text_out(struct json_out *o, const char *key, struct text t)
{
	if (is_composed(o, t))
		out_raw(o, key, t);
	else
		out_text(o, key, t);
}

struct text sqs_text_of(struct request *req, const struct json *body)
{
	if (!body || body->kind != JSON_IS_OPAQUE)
		return body && body->kind == JSON_IS_TEXT ? body->text : TEXT("");
	struct text t = body->text;
	bool is_text = *t.at == '"';
	if (is_text && !memchr(t.at, '\\', t.len)) /* nothing is escaped */
		return arena_copy(&req->arena, t.at + 1, t.len - 2);
	t = arena_copy(&req->arena, t.at, t.len);
	const struct json *text = is_text && t.at ? json_read_own(&req->arena, t, NULL, NULL) : NULL;
	return text ? text->text : t;
}

void sqs_md5_out(struct json_out *o, const char *key, const struct text *parts, size_t count)
{
	unsigned char digest[DIGEST_MD5_BYTES];
	char digits[SQS_MD5_DIGITS + 1];

	digest_md5(parts, count, digest);
	hex_write(digest, sizeof(digest), digits);
	out_string(o, key, digits);
}

/* Returns a UUID of version 8 (RFC 9562), which leaves all other bits to the program. */
static struct text uuid_of(struct request *req, struct text of)
{
	unsigned char digest[DIGEST_BYTES];
	char hex[SQS_MD5_DIGITS + 1];

	digest_sha256(of, digest);
	digest[6] = (unsigned char)(0x80 | (digest[6] & 0x0F));
	digest[8] = (unsigned char)(0x80 | (digest[8] & 0x3F));
	hex_write(digest, SQS_MD5_DIGITS / 2, hex);
	return arena_printf(&req->arena, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

struct text sqs_id_of_retry(struct request *req, struct text entry, const unsigned char request[DIGEST_BYTES])
{
	struct text invocation = req->asked.header(req, SQS_INVOCATION, NULL);
	/*
	 * It includes the request: if a client never changes the header, no other message is
	 * dropped.
	 */
	const struct text parts[] = {
		invocation, TEXT("\0"), entry, TEXT("\0"), { (const char *)request, DIGEST_BYTES }
	};

	if (!invocation.len)
		return (struct text){ 0 };
	return uuid_of(req, arena_join(&req->arena, parts, sizeof(parts) / sizeof(parts[0])));
}

static bool is_uuid(struct text t)
{
	if (t.len != SQS_UUID_DIGITS)
		return false;
	for (size_t i = 0; i < t.len; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? t.at[i] != '-' : hex_value(t.at[i]) < 0)
			return false;
	return true;
}

struct text sqs_message_id(struct request *req, struct text id)
{
	return is_uuid(id) ? id : uuid_of(req, id);
}

struct text sqs_sequence_number(struct request *req, struct text sequence)
{
	return arena_printf(&req->arena, "%020" PRIu64, (uint64_t)strtoull(sequence.at, NULL, 10));
}
