/*
 * sqs_attributes: the attributes of a message, which are its headers in a queue. A type other than
 * `String` is in one more header: `AWS.DataTypes: tries=Number,logo=Binary.png`. The attribute
 * `traceparent` is the message's own, and `AWSTraceHeader` the header `AWS.TraceHeader`. Types are
 * percent-encoded.
 */
#ifndef PATTERND_SQS_ATTRIBUTES_H
#define PATTERND_SQS_ATTRIBUTES_H

#include "sqs/sqs_call.h"

/* An attribute. The value of a binary one is in base64, and `bytes` has what that encodes. */
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
 * Reads the attributes of a received message, as far as the client asked for them by
 * MessageAttributeNames.
 */
struct sqs_attributes sqs_attributes_of(struct request *req, const struct json *message, const struct json *names);

/* Writes the member MessageAttributes, if there are any. */
void sqs_attributes_out(struct json_out *o, const struct sqs_attributes *a);
/*
 * Writes their digest, as the SDKs compute it ("Calculating the MD5 message digest for message
 * attributes", Amazon SQS Developer Guide), if there are any.
 */
void sqs_attributes_out_md5(struct json_out *o, const char *key, const struct sqs_attributes *a);

/* True if a list of names has this one: `All`, `*`, `.*`, the name, or `prefix.*`. */
bool sqs_attribute_is_wanted(const struct json *names, struct text name);

/* The header that has AWSTraceHeader. */
#define SQS_TRACE_HEADER "AWS.TraceHeader"

#endif
