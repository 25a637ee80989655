/*
 * run_script: runs one of the embedded scripts on a private redis-server, and reads its reply.
 *
 *	run(&r, &lock_get_script, KEYS("p:lock:{a}", "p:lock:{a}:fence"), ARGS());
 *	assert_int_equal(item_int(&r, 0), -1);
 *
 * The reply belongs to the server struct and lives until the next command on it. An error reply
 * fails the test, except in calls that expect it. A script marked @idempotent gets an empty
 * fingerprint, or the record of run_with_record. The reply of a replay is the recorded one.
 */
#ifndef TEST_RUN_SCRIPT_H
#define TEST_RUN_SCRIPT_H

#include <hiredis/hiredis.h>
#include <stdint.h>

#include "redis_server.h"
#include "scripts.h"

#define KEYS(...) ((const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })
#define ARGS(...) KEYS(__VA_ARGS__)

/*
 * A request's fingerprint: 64 hex digits, a blank, and the lifetime of its record in milliseconds.
 */
#define FINGERPRINT_A                                                      \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
	" 86400000"
#define FINGERPRINT_B                                                      \
	"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb" \
	" 86400000"

/*
 * Runs a script. Lists end with NULL. `run` adds the key of the index of names if the script needs
 * it.
 */
redisReply *run(struct redis_server *r, const struct script *s, const char *const keys[], const char *const args[]);
redisReply *run_with_record(struct redis_server *r, const struct script *s, const char *const keys[],
			    const char *const args[], const char *record, const char *fingerprint);

/* Runs a script as a replay whose grant must have ended. */
void run_with_record_ended(struct redis_server *r, const struct script *s, const char *const keys[],
			   const char *const args[], const char *record, const char *fingerprint);

/* Runs a script that must return an error that contains `part`. */
void run_fails(struct redis_server *r, const struct script *s, const char *const keys[], const char *const args[],
	       const char *part);
void run_with_record_fails(struct redis_server *r, const struct script *s, const char *const keys[],
			   const char *const args[], const char *record, const char *fingerprint, const char *part);

/*
 * Runs a script that may fail. Returns true if it ran, false if it returned an error that contains
 * `part`.
 */
bool run_may_fail(struct redis_server *r, const struct script *s, const char *const keys[], const char *const args[],
		  const char *part);

/*
 * Replaces `right` by `wrong` in each script that runs from now on, to show that a test finds the
 * bug. NULL, NULL: no bug. places_of_bug counts the places that were replaced.
 */
void run_with_bug(const char *right, const char *wrong);
int places_of_bug(void);

/* The outcome of the latest reply. The reply must have a form that its script declares. */
int64_t outcome(const struct redis_server *r);

/*
 * Item `i` of the latest reply, by the names of scripts.h. The test fails if it is missing or has
 * another type.
 */
int64_t item_int(const struct redis_server *r, size_t i);
double item_real(const struct redis_server *r, size_t i);
const char *item_text(const struct redis_server *r, size_t i);

/* The remaining time of a key: -1 without an expiry, -2 if the key does not exist. */
int64_t redis_pttl_ms(struct redis_server *r, const char *key);
int64_t redis_exists(struct redis_server *r, const char *key);

/* Runs a statement, which must not change Redis. */
#define unchanged(r, statement)                       \
	do {                                          \
		char *before_ = server_picture(r);    \
		statement;                            \
		char *after_ = server_picture(r);     \
		assert_string_equal(after_, before_); \
		free(before_);                        \
		free(after_);                         \
	} while (0)

/* cmocka's assert_float_equal compares floats, which have seven digits. */
#define assert_near(got, wanted, within) must_be_near(got, wanted, within, __FILE__, __LINE__)
void must_be_near(double got, double wanted, double within, const char *file, int line);

#endif
