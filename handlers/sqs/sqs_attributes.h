/*
 * sqs_attributes: the attributes of a message, which are stored as its headers. One more header has
 * the types other than `String`, percent-encoded: `AWS.DataTypes: tries=Number,logo=Binary.png`. A
 * valid attribute `traceparent` is stored as the message's `traceparent`, and `AWSTraceHeader` as
 * the header `AWS.TraceHeader`.
 */
#ifndef PATTERND_SQS_ATTRIBUTES_H
#define PATTERND_SQS_ATTRIBUTES_H

#include "sqs/sqs_call.h"

/*
 * An attribute. A binary value is in base64, and `bytes` has the decoded bytes; else both are the
 * same.
 */
struct sqs_attribute {
	struct text name, type, value, bytes;
};

struct sqs_attributes {
	struct sqs_attribute *items; /* sorted by the bytes of the name */
	size_t count, bytes;         /* of all names, types and values */
};

/*
 * Reads MessageAttributes, or MessageSystemAttributes if `is_system`. False: *why has the reason.
 */
bool sqs_attributes_read(struct request *req, const struct json *given, bool is_system, struct sqs_attributes *out,
			 struct sqs_refusal *why);

/* Writes them as the members `headers` and `traceparent` of a message that is sent. */
void sqs_attributes_out_headers(struct json_out *o, struct request *req, const struct sqs_attributes *user,
				const struct sqs_attributes *system);

/*
 * Returns the attributes of a received message that the client asked for by MessageAttributeNames.
 */
struct sqs_attributes sqs_attributes_of(struct request *req, const struct json *message, const struct json *names);

/* Writes the member MessageAttributes, if there are any. */
void sqs_attributes_out(struct json_out *o, const struct sqs_attributes *a);
/*
 * Writes their digest, as the SDKs compute it ("Calculating the MD5 message digest for message
 * attributes", Amazon SQS Developer Guide), if there are any.
 */
void sqs_attributes_out_md5(struct json_out *o, const char *key, const struct sqs_attributes *a);

/* True if a list asks for this name, by `All`, `*`, `.*`, the name itself, or `prefix.*`. */
bool sqs_attribute_is_wanted(const struct json *names, struct text name);

/* The header in which AWSTraceHeader is stored. */
#define SQS_TRACE_HEADER "AWS.TraceHeader"

#endif
