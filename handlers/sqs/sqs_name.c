#include "sqs/sqs_name.h"

#include <string.h>
#include <strings.h>

#include "core/percent.h"
#include "process/config.h"
#include "request/request.h"

enum { NAME_MOST = 80, ARN_PARTS = 5 /* before the name */ };

static struct text header(struct request *req, const char *name)
{
	return req->asked.header(req, name, NULL);
}

/* Returns what follows the last `stop`. */
static struct text last_part(struct text t, char stop)
{
	struct text part = t;

	for (size_t i = 0; i < t.len; i++)
		if (t.at[i] == stop)
			part = (struct text){ t.at + i + 1, t.len - i - 1 };
	return part;
}

struct text sqs_name_of_url(struct request *req, struct text url)
{
	struct text part = last_part(url, '/'), name = arena_copy(&req->arena, part.at, part.len);

	return name.at && percent_decode((char *)(uintptr_t)name.at, &name.len) ? name : (struct text){ 0 };
}

struct text sqs_name_of_arn(struct request *req, struct text arn)
{
	struct text rest = arn;

	if (arn.len < 4 || memcmp(arn.at, "arn:", 4) != 0)
		return (struct text){ 0 };
	for (int i = 0; i < ARN_PARTS && rest.at; i++)
		text_cut(&rest, ':');
	return rest.at ? arena_copy(&req->arena, rest.at, rest.len) : rest; /* a name may have ':' */
}

static bool is_tls(struct request *req)
{
	struct text forwarded = header(req, "X-Forwarded-Proto");

	return (*config()->tls_cert && !req->asked.by_unix) || (forwarded.at && strcasecmp(forwarded.at, "https") == 0);
}

struct text sqs_url_of(struct request *req, struct text queue)
{
	struct text host = header(req, "Host");
	char *encoded = arena_alloc(&req->arena, 3 * queue.len + 1);
	struct text none = { 0 };

	if (!encoded)
		return none;
	const struct text parts[] = {
		is_tls(req) ? TEXT("https://") : TEXT("http://"),
		host.len ? host : TEXT("localhost"),
		TEXT("/" SQS_ACCOUNT "/"),
		{ encoded, percent_encode(queue, encoded) },
	};
	return arena_join(&req->arena, parts, sizeof(parts) / sizeof(parts[0]));
}

bool sqs_name_is_fifo(struct text queue)
{
	return queue.len > 5 && memcmp(queue.at + queue.len - 5, ".fifo", 5) == 0;
}

bool sqs_name_is_valid(struct text queue)
{
	size_t len = sqs_name_is_fifo(queue) ? queue.len - 5 : queue.len;
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

	return queue.len >= 1 && queue.len <= NAME_MOST && strspn(queue.at, allowed) >= len;
}

/* ---- The signature, which is not checked: the token file has no secret to check it by ---- */

/*
 * Returns the credential of `AWS4-HMAC-SHA256 Credential=<key id>/<date>/<region>/<service>/...`,
 * and cuts its last four parts off into `scope`. The key id may contain '/'.
 */
static struct text key_id(struct request *req, struct text scope[4])
{
	static const char field[] = "Credential=";
	struct text given = header(req, "Authorization");
	const char *at = given.at ? strstr(given.at, field) : NULL;

	if (!at)
		return (struct text){ 0 };
	at += sizeof(field) - 1;
	struct text id = { at, strcspn(at, ", ") };
	for (int i = 3; i >= 0; i--) {
		scope[i] = last_part(id, '/');
		if (scope[i].len >= id.len)
			return (struct text){ 0 };
		id.len -= scope[i].len + 1;
	}
	return id;
}

struct text sqs_token(struct request *req)
{
	static const char scheme[] = "Bearer ";
	struct text scope[4], token = header(req, "X-Amz-Security-Token");

	if (!token.len)
		token = key_id(req, scope);
	struct text given = header(req, "Authorization");
	if (!token.len && given.len >= sizeof(scheme) && strncasecmp(given.at, scheme, sizeof(scheme) - 1) == 0)
		token = (struct text){ given.at + sizeof(scheme) - 1, given.len - sizeof(scheme) + 1 };
	return token.len ? token : (struct text){ 0 };
}

struct text sqs_arn_of(struct request *req, struct text queue)
{
	struct text scope[4] = { 0 }, region = key_id(req, scope).at && scope[1].len ? scope[1] : TEXT("us-east-1");
	const struct text parts[] = { TEXT("arn:aws:sqs:"), region, TEXT(":" SQS_ACCOUNT ":"), queue };

	return arena_join(&req->arena, parts, sizeof(parts) / sizeof(parts[0]));
}
