#include "request/seal.h"

#include "core/digest.h"
#include "core/hex.h"
#include "request/operation.h"
#include "request/request.h"

struct text seal_digest(struct request *req, struct text bytes)
{
	unsigned char digest[DIGEST_BYTES];
	char hex[2 * DIGEST_BYTES + 1];

	digest_sha256(bytes, digest);
	hex_write(digest, sizeof(digest), hex);
	return arena_copy(&req->arena, hex, sizeof(hex) - 1);
}

struct text seal_scope(struct request *req)
{
	char digits[MAX_PATH_PARAMETERS][TEXT_DIGITS];
	struct text parts[3 * MAX_PATH_PARAMETERS + 5] = { text_of(req->op->id) };
	size_t count = 1;

	/*
	 * The names are decoded, with their lengths: two spellings of a path have one scope, two
	 * paths have two.
	 */
	for (size_t i = 0; i < MAX_PATH_PARAMETERS && req->asked.path_values[i].at; i++) {
		parts[count++] = text_of_int((int64_t)req->asked.path_values[i].len, digits[i]);
		parts[count++] = TEXT(":");
		parts[count++] = req->asked.path_values[i];
	}
	parts[count++] = TEXT("\n");
	parts[count++] = req->asked.idempotency_key;
	if (req->caller.name.at) { /* the caller's key has no line break */
		parts[count++] = TEXT("\n");
		parts[count++] = req->caller.name;
	}
	return arena_join(&req->arena, parts, count);
}

/*
 * Returns the text of a header that is an input of the operation; absent if it was not sent.
 */
static struct text header_text(const struct request *req, const struct field *field)
{
	if (field->place != IN_HEADER || field->kind != FIELD_TEXT)
		return (struct text){ 0 };
	return *(const struct text *)((const char *)req->input + field->offset);
}

struct text seal_request(struct request *req)
{
	struct text digest = seal_digest(req, req->asked.body.at ? req->asked.body : TEXT(""));

	for (size_t i = 0; i < req->op->field_count; i++) {
		const struct field *field = &req->op->fields[i];
		struct text value = header_text(req, field), name = text_of(field->name);
		if (value.at)
			digest = seal_digest(req, arena_join(&req->arena, (struct text[]){ digest, name, value }, 3));
	}
	return digest;
}

struct text seal_mask(struct request *req, struct text hex32)
{
	char masked[33];

	if (!req->asked.idempotency_key.at || hex32.len != 32)
		return hex32;
	struct text pad =
		seal_digest(req, arena_join(&req->arena, (struct text[]){ TEXT("mask\n"), seal_scope(req) }, 2));
	if (!pad.at)
		return pad;
	for (size_t i = 0; i < 32; i++)
		masked[i] = hex_digit((unsigned)(hex_value(hex32.at[i]) ^ hex_value(pad.at[i])));
	return arena_copy(&req->arena, masked, 32);
}
