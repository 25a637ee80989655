/*
 * The bitmap scripts on a real Redis: fields of every width against BITFIELD itself, ranges that
 * are counted and searched in steps against one BITCOUNT and BITPOS, and a full Redis.
 */
#include "run_script.h"
#include "script_stage.h"
#include "test.h"

#define KEY "p:bitmap:{b}"
#define TWIN "twin" /* changed by plain commands as the scripts change KEY */
#define MIB (1024 * 1024)

enum { WORDS = 6, OPERATIONS_MAX = 256, DIGITS = 24 };

static unsigned seed;

static unsigned random_below(unsigned n)
{
	return (unsigned)rand_r(&seed) % n;
}

/* ---- Fields ---- */

/* Operations in the form in which the script accepts them. */
struct asked {
	size_t count;
	char words[OPERATIONS_MAX * WORDS][DIGITS];
	const char *args[OPERATIONS_MAX * WORDS + 1];
};

static void ask(struct asked *a, const char *op, char sign, int bits, long long offset, const char *value,
		const char *overflow)
{
	char(*w)[DIGITS] = a->words + a->count * WORDS;

	snprintf(w[0], DIGITS, "%s", op);
	snprintf(w[1], DIGITS, "%c", sign);
	snprintf(w[2], DIGITS, "%d", bits);
	snprintf(w[3], DIGITS, "%lld", offset);
	snprintf(w[4], DIGITS, "%s", value);
	snprintf(w[5], DIGITS, "%s", overflow);
	for (size_t i = 0; i < WORDS; i++)
		a->args[a->count * WORDS + i] = w[i];
	a->args[++a->count * WORDS] = NULL;
}

#define FIELDS(n) (BITMAP_FIELD_WRITE_FIELDS + BITMAP_FIELD_ITEMS * (n))
#define FIELD(i, item) (FIELDS(i) + BITMAP_FIELD_##item)

/*
 * Combines the halves of the value that the script returned for operation `i`, as the daemon does.
 * Returns false if the script refused the operation.
 */
static bool returned_value(size_t i, int64_t *value)
{
	int64_t upper = item_int(&r, FIELD(i, UPPER)), lower = item_int(&r, FIELD(i, LOWER));

	if (item_int(&r, FIELD(i, IS_REFUSED))) {
		assert_int_equal(upper, 0);
		assert_int_equal(lower, 0);
		return false;
	}
	*value = (int64_t)(((uint64_t)upper << 32) + (uint64_t)lower);
	return true;
}

/* Runs operation `i` with BITFIELD on the twin. Returns false if BITFIELD refused it. */
static bool plain_value(const struct asked *a, size_t i, int64_t *value)
{
	const char *const *w = a->args + i * WORDS;
	redisReply *reply = strcmp(w[0], "GET") == 0
				    ? server_command(&r, "BITFIELD " TWIN " GET %s%s %s", w[1], w[2], w[3])
				    : server_command(&r, "BITFIELD " TWIN " OVERFLOW %s %s %s%s %s %s", w[5], w[0],
						     w[1], w[2], w[3], w[4]);

	assert_int_equal(reply->elements, 1);
	*value = reply->element[0]->integer;
	return reply->element[0]->type != REDIS_REPLY_NIL;
}

/*
 * Runs the operations by the script on KEY and by BITFIELD on the twin. The values and the bits
 * must be equal.
 */
static void must_be_as_bitfield(const struct asked *a)
{
	static int64_t values[OPERATIONS_MAX];
	static bool done[OPERATIONS_MAX];

	run(&r, &bitmap_field_write_script, KEYS(KEY), a->args);
	assert_int_equal(r.reply->elements, FIELDS(a->count));
	for (size_t i = 0; i < a->count; i++)
		done[i] = returned_value(i, &values[i]);
	for (size_t i = 0; i < a->count; i++) {
		const char *const *w = a->args + i * WORDS;
		int64_t wanted = 0;
		bool was_done = plain_value(a, i, &wanted);
		if (was_done != done[i] || (was_done && wanted != values[i]))
			fail_msg("seed %u: %s %s%s at %s, %s, %s: %lld, not %lld", seed, w[0], w[1], w[2], w[3], w[4],
				 w[5], done[i] ? (long long)values[i] : -999, was_done ? (long long)wanted : -999);
	}
	server_command(&r, "BITOP XOR difference " KEY " " TWIN);
	assert_int_equal(server_command(&r, "BITCOUNT difference")->integer, 0);
	assert_int_equal(server_command(&r, "STRLEN " KEY)->integer, server_command(&r, "STRLEN " TWIN)->integer);
}

static const char *random_value(int bits)
{
	static char text[DIGITS];
	static const char *const ends[] = { "9223372036854775807",
					    "-9223372036854775808",
					    "9007199254740993",
					    "-9007199254740993",
					    "4294967296",
					    "-1",
					    "1",
					    "0" };
	int64_t value =
		(int64_t)(((uint64_t)rand_r(&seed) << 62) ^ ((uint64_t)rand_r(&seed) << 31) ^ (uint64_t)rand_r(&seed));

	if (random_below(3) == 0)
		return ends[random_below(COUNT(ends))];
	if (random_below(3) > 0) /* mostly a value that almost fits */
		value >>= random_below(2) ? 64 - bits : (bits < 64 ? 63 - bits : 0);
	snprintf(text, sizeof(text), "%lld", (long long)value);
	return text;
}

SUITE(.open = script_stage_open, .close = script_stage_close, .before = script_stage_empty);

/* Runs random operations on fields of every type, at offsets that overlap and cross bytes. */
TEST(fields_equal_those_that_bitfield_makes)
{
	static const char *const ops[] = { "GET", "SET", "INCRBY" }, *const overflows[] = { "WRAP", "SAT", "FAIL" };
	static struct asked a;

	seed = 4;
	for (int round = 0; round < 60; round++) {
		a.count = 0;
		for (int type = 0; type < 127; type++) {
			char sign = type < 63 ? 'u' : 'i';
			int bits = type < 63 ? type + 1 : type - 62;
			const char *op = ops[random_below(3)];
			ask(&a, op, sign, bits, random_below(400), *op == 'G' ? "" : random_value(bits),
			    overflows[random_below(3)]);
		}
		must_be_as_bitfield(&a);
	}
}

/* One call runs as many operations as a request may have, all of the costliest kind. */
TEST(many_operations_are_one_call)
{
	static struct asked a;

	for (int i = 0; i < OPERATIONS_MAX; i++)
		ask(&a, i % 2 ? "INCRBY" : "SET", 'i', 64, i / 2 * 64, "-9007199254740993", "SAT");
	must_be_as_bitfield(&a);
}

/* ---- Counting and searching in steps ---- */

/*
 * Fills a bitmap with runs of set bits and of clear bits, and with a few single bits of the other
 * value.
 */
static void fill(size_t bytes)
{
	char *bits = malloc(bytes);

	for (size_t at = 0; at < bytes;) {
		size_t run = 1 + random_below((unsigned)bytes);
		char value = random_below(3) == 0 ? (char)random_below(256) : random_below(2) ? '\xff' : '\0';
		for (; run-- > 0 && at < bytes; at++)
			bits[at] = value;
	}
	for (int i = 0; i < 2; i++)
		bits[random_below((unsigned)bytes)] = (char)random_below(256);
	server_command(&r, "SET " KEY " %b", bits, bytes);
	free(bits);
}

/* A random place in a bitmap of `length`: inside it, near its ends, or beyond them. */
static long long random_place(long long length)
{
	long long at = (long long)random_below((unsigned)length + 1);

	switch (random_below(5)) {
	case 0:
		return -at - random_below(3);
	case 1:
		return length - 2 + random_below(5);
	case 2:
		return -length - 2 + random_below(5);
	default:
		return at;
	}
}

static int64_t counted(const char *first, const char *last, const char *unit, int *calls)
{
	char next[DIGITS], end[DIGITS];
	int64_t sum = 0;

	for (*calls = 1;; ++*calls) {
		run(&r, &bitmap_bit_count_script, KEYS(KEY), ARGS(first, last, unit));
		sum += item_int(&r, BITMAP_BIT_COUNT_COUNT);
		int64_t next_bit = item_int(&r, BITMAP_BIT_COUNT_NEXT_BIT);
		if (next_bit < 0)
			return sum;
		snprintf(next, sizeof(next), "%lld", (long long)next_bit);
		snprintf(end, sizeof(end), "%lld", (long long)item_int(&r, BITMAP_BIT_COUNT_LAST_BIT));
		first = next;
		last = end;
		unit = "BIT";
	}
}

static int64_t found_at(const char *bit, const char *first, const char *last, const char *unit)
{
	char next[DIGITS], end[DIGITS];
	bool endless = *last == '\0';

	for (;;) {
		run(&r, &bitmap_position_get_script, KEYS(KEY), ARGS(bit, first, last, unit));
		int64_t next_bit = item_int(&r, BITMAP_POSITION_GET_NEXT_BIT);
		if (next_bit < 0)
			return item_int(&r, BITMAP_POSITION_GET_POSITION);
		assert_int_equal(item_int(&r, BITMAP_POSITION_GET_POSITION), -1);
		snprintf(next, sizeof(next), "%lld", (long long)next_bit);
		snprintf(end, sizeof(end), "%lld", (long long)item_int(&r, BITMAP_POSITION_GET_LAST_BIT));
		first = next;
		last = endless ? "" : end;
		unit = "BIT";
	}
}

TEST(steps_add_up_to_one_command)
{
	static const size_t sizes[] = { 1, 2, 7, 100, 1000, MIB, MIB + 1, 5 * MIB / 2 };
	char first[DIGITS], last[DIGITS];
	int calls;

	seed = 7;
	for (int round = 0; round < 240; round++) {
		size_t bytes = sizes[round % 8];
		fill(bytes);
		for (int i = 0; i < 8; i++) {
			const char *unit = random_below(2) ? "BIT" : "BYTE", *bit = random_below(2) ? "1" : "0";
			long long length = (long long)bytes * (strcmp(unit, "BIT") == 0 ? 8 : 1);
			long long from = random_place(length), to = random_place(length);
			snprintf(first, sizeof(first), "%lld", from);
			snprintf(last, sizeof(last), "%lld", to);
			int64_t wanted = server_command(&r, "BITCOUNT " KEY " %s %s %s", first, last, unit)->integer;
			assert_int_equal(counted(first, last, unit, &calls), wanted);
			if (from < 0 && to < from)
				continue; /* cut off, such a range is empty for BITCOUNT but a byte for BITPOS */
			wanted = server_command(&r, "BITPOS " KEY " %s %s %s %s", bit, first, last, unit)->integer;
			assert_int_equal(found_at(bit, first, last, unit), wanted);
		}
	}
}

/* What the contract promises, one bit after the other. `last` is ignored if it is endless. */
static int64_t position_by_contract(const char *bits, long long bytes, int bit, long long first, long long last,
				    bool endless, int scale)
{
	long long length = bytes * 8 / scale;
	bool is_empty = !endless && first < 0 && last < first;

	first = first < 0 ? first + length : first;
	last = last < 0 ? last + length : last;
	first = (first < 0 ? 0 : first) * scale;
	last = ((last < 0 ? 0 : last) + 1) * scale - 1;
	for (long long at = first; !is_empty && (endless || at <= last) && (at < bytes * 8 || (endless && !bit));
	     at++) {
		int is = at < bytes * 8 ? bits[at / 8] >> (7 - at % 8) & 1 : 0;
		if (is == bit)
			return at;
	}
	return -1;
}

/* All ranges around the ends of short bitmaps. */
TEST(positions_at_every_border)
{
	static const char *const bitmaps[] = { "", "\xff", "\x01", "\x80", "\xff\xff", "\xff\x7f", "\xfe\xff" };
	char bit[2] = "", first[DIGITS], last[DIGITS];

	for (size_t i = 0; i < sizeof(bitmaps) / sizeof(bitmaps[0]); i++) {
		long long bytes = (long long)strlen(bitmaps[i]);
		server_command(&r, "DEL " KEY);
		if (bytes > 0)
			server_command(&r, "SET " KEY " %b", bitmaps[i], (size_t)bytes);
		for (int scale = 1; scale <= 8; scale += 7) {
			long long most = bytes * 8 / scale + 2;
			for (long long from = -most; from <= most; from++)
				for (long long to = -most; to <= most + 1; to++)
					for (*bit = '0'; *bit <= '1'; ++*bit) {
						bool endless = to > most;
						snprintf(first, sizeof(first), "%lld", from);
						snprintf(last, sizeof(last), endless ? "" : "%lld", to);
						int64_t wanted = position_by_contract(bitmaps[i], bytes, *bit - '0',
										      from, to, endless, scale);
						int64_t found = found_at(bit, first, last, scale == 1 ? "BIT" : "BYTE");
						if (found != wanted)
							fail_msg("bitmap %zu, bit %s, %s to '%s' by %d: %lld", i, bit,
								 first, last, scale, (long long)found);
					}
		}
	}
}

TEST(a_step_is_a_mebibyte)
{
	int calls;

	server_command(&r, "SETBIT " KEY " %d 1", 16 * MIB * 8 - 1);
	assert_int_equal(counted("0", "-1", "BYTE", &calls), 1);
	assert_int_equal(calls, 16);
	assert_int_equal(counted("0", "1048575", "BYTE", &calls), 0);
	assert_int_equal(calls, 1);
	assert_int_equal(found_at("1", "0", "", "BYTE"), 16 * MIB * 8 - 1);
	assert_int_equal(found_at("1", "0", "-2", "BIT"), -1);
	assert_int_equal(found_at("0", "-134217800", "-134217900", "BIT"), -1); /* the range ends before it begins */
	/*
	 * A count ends where the bitmap ends, even if the bitmap shrinks or is deleted during the
	 * count.
	 */
	run(&r, &bitmap_bit_count_script, KEYS(KEY), ARGS("0", "-1", "BYTE"));
	assert_int_equal(item_int(&r, BITMAP_BIT_COUNT_NEXT_BIT), 8 * MIB);
	server_command(&r, "DEL " KEY);
	run(&r, &bitmap_bit_count_script, KEYS(KEY), ARGS("8388608", "134217727", "BIT"));
	assert_int_equal(item_int(&r, BITMAP_BIT_COUNT_NEXT_BIT), -1);
}

TEST(a_full_redis_still_reads_and_frees)
{
	static struct asked a;

	ask(&a, "SET", 'u', 8, 0, "1", "WRAP");
	run(&r, &bitmap_put_script, KEYS(KEY), ARGS("abc"));
	server_command(&r, "CONFIG SET maxmemory 1");
	run_fails(&r, &bitmap_bit_put_script, KEYS(KEY), ARGS("0", "1"), "OOM");
	run_fails(&r, &bitmap_put_script, KEYS(KEY), ARGS("x"), "OOM");
	run_fails(&r, &bitmap_field_write_script, KEYS(KEY), a.args, "OOM");
	run(&r, &bitmap_bit_count_script, KEYS(KEY), ARGS("0", "-1", "BYTE"));
	run(&r, &bitmap_position_get_script, KEYS(KEY), ARGS("1", "0", "", "BYTE"));
	run(&r, &bitmap_patch_script, KEYS(KEY), ARGS("60000"));
	assert_int_equal(outcome(&r), 1);
	run(&r, &bitmap_delete_script, KEYS(KEY), ARGS());
	assert_int_equal(outcome(&r), 1);
}

/* ---- Expiry: the twin gets PEXPIRE and PERSIST themselves ---- */

enum { MINUTE_MS = 60000, LATE_MS = 20000 };

/* Both have the same bits. Their expiries differ at most by the time between two commands. */
static void must_be_as_the_twin(void)
{
	int64_t wanted = server_command(&r, "PEXPIRETIME " TWIN)->integer;
	int64_t is = server_command(&r, "PEXPIRETIME " KEY)->integer;
	int64_t bytes = server_command(&r, "STRLEN " TWIN)->integer;

	run(&r, &bitmap_size_get_script, KEYS(KEY), ARGS());
	assert_int_equal(outcome(&r), wanted == -2 ? BITMAP_SIZE_GET_ABSENT : 0);
	if (wanted != -2) {
		assert_int_equal(item_int(&r, BITMAP_EXPIRES_AT_MS), is);
		assert_int_equal(item_int(&r, BITMAP_BYTES), bytes);
	}
	if (wanted > 0)
		assert_in_range(is, wanted - LATE_MS, wanted + LATE_MS);
	else
		assert_int_equal(is, wanted);
	server_command(&r, "BITOP XOR difference " KEY " " TWIN);
	assert_int_equal(server_command(&r, "BITCOUNT difference")->integer, 0);
}

/* Only PATCH and a deletion change the expiry, whatever the order of the writes. */
TEST(the_expiry_is_as_by_pexpire)
{
	static struct asked field;

	seed = 8;
	ask(&field, "INCRBY", 'u', 8, 16, "1", "WRAP");
	for (int i = 0; i < 400; i++) {
		char ttl[DIGITS];
		int64_t there;
		snprintf(ttl, sizeof(ttl), "%u", (1 + random_below(9)) * MINUTE_MS);
		switch (random_below(8)) {
		case 0:
		case 1:
			there = server_command(&r, "PEXPIRE " TWIN " %s", ttl)->integer;
			run(&r, &bitmap_patch_script, KEYS(KEY), ARGS(ttl));
			assert_int_equal(outcome(&r), there ? 1 : BITMAP_PATCH_ABSENT);
			break;
		case 2:
			server_command(&r, "PERSIST " TWIN);
			there = redis_exists(&r, TWIN);
			run(&r, &bitmap_patch_script, KEYS(KEY), ARGS("null"));
			assert_int_equal(outcome(&r), there ? 1 : BITMAP_PATCH_ABSENT);
			break;
		case 3:
			unchanged(&r, run(&r, &bitmap_patch_script, KEYS(KEY), ARGS("")));
			break;
		case 4:
			run(&r, &bitmap_bit_put_script, KEYS(KEY), ARGS("9", "1"));
			server_command(&r, "SETBIT " TWIN " 9 1");
			break;
		case 5:
			run(&r, &bitmap_put_script, KEYS(KEY), ARGS(i % 2 ? "" : "abc"));
			there = item_int(&r, BITMAP_PUT_EXPIRES_AT_MS);
			assert_int_equal(there, server_command(&r, "PEXPIRETIME " KEY)->integer);
			server_command(&r, "SET " TWIN " %b KEEPTTL", "abc", (size_t)(i % 2 ? 0 : 3));
			break;
		case 6:
			run(&r, &bitmap_field_write_script, KEYS(KEY), field.args);
			server_command(&r, "BITFIELD " TWIN " INCRBY u8 16 1");
			break;
		default:
			if (i % 3)
				continue;
			run(&r, &bitmap_delete_script, KEYS(KEY), ARGS());
			server_command(&r, "DEL " TWIN);
		}
		must_be_as_the_twin();
	}
}
