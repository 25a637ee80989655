/* sqs_batch: the entries of a batch, some of which may fail. It must not know what they ask for. */
#ifndef PATTERND_SQS_BATCH_H
#define PATTERND_SQS_BATCH_H

#include "sqs/sqs_call.h"

struct sqs_entry {
	const struct json *in; /* its members */
	struct text id;
	bool is_asked; /* it is a part of the operation under way */
	bool has_failed;
	struct sqs_refusal refusal;
};

struct sqs_batch {
	struct sqs_entry *entries;
	size_t count;
};

/*
 * Reads the member Entries. `kind` is what error messages call an entry; NULL: the request itself
 * is the only entry, without an id. False: an error of the whole batch was answered.
 */
bool sqs_batch_read(struct sqs_call *s, const char *kind, struct sqs_batch *out);

/* Refuses an entry. Returns false. */
bool sqs_batch_refuse(struct sqs_call *s, struct sqs_entry *e, enum sqs_fault fault, const char *message, ...)
	__attribute__((format(printf, 4, 5)));

/* An entry that the operation has refused, and why. */
struct sqs_named {
	struct sqs_entry *entry;
	struct text detail;
};

enum { SQS_ENTRIES_MOST = 10 };

/*
 * Finds the entries that a problem names by pointers into a list of the operation's body, such as
 * "/messages/2". The list has the entries with `is_asked`. Returns how many it found.
 */
size_t sqs_batch_named(struct sqs_call *s, struct sqs_batch *b, struct sqs_named named[SQS_ENTRIES_MOST]);

/* Writes the member Failed. */
void sqs_batch_out_failed(struct json_out *o, const struct sqs_batch *b);

/* Answers with Successful, which has only ids, and Failed. */
void sqs_batch_answer(struct sqs_call *s, const struct sqs_batch *b);

#endif
