/*
 * sqs_text: the body and the id of a message, on both sides.
 *
 * In SQS the body of a message is a text; in a queue it is a JSON value. A text that is exactly a
 * JSON object or array is stored as that value, byte for byte. Every other text is stored as a
 * string. A receive returns the text of a string, and the JSON text of every other value. So each
 * text passes unchanged.
 */
#ifndef PATTERND_SQS_TEXT_H
#define PATTERND_SQS_TEXT_H

#include "core/digest.h"
#include "request/request.h"
#include "json/out.h"
#include "json/tree.h"

enum { SQS_MD5_DIGITS = 32, SQS_UUID_DIGITS = 36 };

/* True if SQS allows each character: #x9, #xA, #xD, #x20 to #xD7FF, #xE000 to #xFFFD, and above. */
bool sqs_text_is_allowed(struct text t);

/* Writes a text as the JSON value that is stored. */
void sqs_text_out(struct json_out *o, const char *key, struct text t);
/* Returns the text of a stored value, which sqs_answer has kept. */
struct text sqs_text_of(struct request *req, const struct json *body);

/* Writes the MD5 of parts as a member. */
void sqs_md5_out(struct json_out *o, const char *key, const struct text *parts, size_t count);

/*
 * sqs_id_of_retry returns an id for a message that a client may send twice. It is computed from the
 * header `amz-sdk-invocation-id`, which an SDK keeps over its retries, the Id of the entry, and the
 * digest of the request's body. It is absent without that header. sqs_message_id returns the
 * MessageId for an id: the id itself if it is a UUID, else a UUID computed from its digest.
 */
struct text sqs_id_of_retry(struct request *req, struct text entry, const unsigned char request[DIGEST_BYTES]);
struct text sqs_message_id(struct request *req, struct text id);

/* Returns the SequenceNumber of a sequence: 20 digits. */
struct text sqs_sequence_number(struct request *req, struct text sequence);

#endif
