/* config: see config.h. It applies the table of options.def to each source. */
#include "process/config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/config_file.h"
#include "process/option.h"
#include "process/secret.h"
#include "version.h"

enum kind { KIND_TEXT, KIND_SECRET, KIND_OPTIONAL, KIND_CHOICE, KIND_INT, KIND_FLAG, KIND_ONCE };

struct option_row {
	enum kind kind;
	uint32_t offset;          /* the offset in struct config */
	const char *flag;         /* the name without dashes */
	const char *default_text; /* the default of texts and choices */
	const char *choices;
	int64_t default_number; /* the default of integers */
	int64_t min, max;
};

#define AT(field) .offset = offsetof(struct config, field)
static const struct option_row rows[] = {
#define OPTION_GROUP(title)
#define OPTION_TEXT(field, f, arg, std, text) { .kind = KIND_TEXT, .flag = (f), .default_text = (std), AT(field) },
#define OPTION_SECRET(field, f, arg, std, text) { .kind = KIND_SECRET, .flag = (f), .default_text = (std), AT(field) },
#define OPTION_OPTIONAL(field, f, arg, text) { .kind = KIND_OPTIONAL, .flag = (f), AT(field) },
#define OPTION_CHOICE(field, f, std, list, text) \
	{ .kind = KIND_CHOICE, .flag = (f), .default_text = (std), .choices = (list), AT(field) },
#define OPTION_INT(field, f, arg, std, low, high, text) \
	{ .kind = KIND_INT, .flag = (f), .default_number = (std), .min = (low), .max = (high), AT(field) },
#define OPTION_FLAG(field, f, text) { .kind = KIND_FLAG, .flag = (f), AT(field) },
#define OPTION_ONCE(f, arg, text) { .kind = KIND_ONCE, .flag = (f) },
#include "process/options.def"
};

enum { MAX_PREFIX = 64, ROWS = sizeof(rows) / sizeof(rows[0]), WHERE_BYTES = 4096 };

enum source { FROM_DEFAULT, FROM_FILE, FROM_VARIABLE, FROM_FLAG };
static const char *const source_names[] = { "default", "file", "environment", "flag" };

static struct config values;
static enum source sources[ROWS];
static int lines[ROWS]; /* line of each option in the file */
static const char *file_path;
static bool dry_run;
static char *copies[ROWS];                                           /* copies of the texts that `values` points to */
static const char *(*fault_of)(const char *flag, const char *value); /* may be NULL */

const struct config *config(void)
{
	return &values;
}

void config_check_texts(const char *(*fault)(const char *flag, const char *value))
{
	fault_of = fault;
}

static void *slot(const struct option_row *row)
{
	return (char *)&values + row->offset;
}

static const struct option_row *find(const char *name, size_t len)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].kind != KIND_ONCE && strlen(rows[i].flag) == len && memcmp(rows[i].flag, name, len) == 0)
			return &rows[i];
	return NULL;
}

static bool is_choice(const char *choices, const char *value)
{
	for (struct text rest = text_of(choices); rest.at;)
		if (text_is(text_cut(&rest, '|'), value))
			return true;
	return false;
}

static bool refuse(const char *where, const struct option_row *row, const char *value, const char *wanted)
{
	fprintf(stderr, "patternd: %s: '%s' is not %s\n", where, row->kind == KIND_SECRET ? "..." : value, wanted);
	return false;
}

static bool set_int(const struct option_row *row, const char *value, const char *where)
{
	char *end;
	char wanted[96];

	errno = 0;
	long long n = strtoll(value, &end, 10);
	if (*value == '\0' || *end != '\0' || errno || n < row->min || n > row->max) {
		snprintf(wanted, sizeof(wanted), "a whole number from %lld to %lld", (long long)row->min,
			 (long long)row->max);
		return refuse(where, row, value, wanted);
	}
	*(int64_t *)slot(row) = n;
	return true;
}

static bool set_flag(const struct option_row *row, const char *value, const char *where)
{
	bool on = strcmp(value, "true") == 0 || strcmp(value, "1") == 0;

	if (!on && *value && strcmp(value, "false") != 0 && strcmp(value, "0") != 0)
		return refuse(where, row, value, "true or false");
	*(bool *)slot(row) = on;
	return true;
}

static bool set_text(const struct option_row *row, const char *value, const char *where)
{
	size_t i = (size_t)(row - rows);

	if (row->kind == KIND_CHOICE && !is_choice(row->choices, value))
		return refuse(where, row, value, row->choices);
	if (row->kind == KIND_OPTIONAL && is_choice("0|1|true|false|yes|no|on|off", value))
		return refuse(where, row, value, "a folder (empty: a temporary one)");
	if (row->offset == offsetof(struct config, prefix) &&
	    (strlen(value) > MAX_PREFIX || value[strcspn(value, "{}\r\n\t")]))
		return refuse(where, row, value, "a prefix: at most 64 bytes, without { } and control characters");
	const char *fault = fault_of ? fault_of(row->flag, value) : NULL;
	if (fault) {
		fprintf(stderr, "patternd: %s: %s\n", where, fault);
		return false;
	}
	char *copy = strdup(value);
	if (!copy) {
		fprintf(stderr, "patternd: out of memory\n");
		return false;
	}
	free(copies[i]);
	copies[i] = copy;
	*(const char **)slot(row) = copy;
	return true;
}

/* Sets one option. `where` names the source in messages. */
static bool set(const struct option_row *row, const char *value, enum source source, const char *where)
{
	sources[row - rows] = source;
	if (row->kind == KIND_INT)
		return set_int(row, value, where);
	if (row->kind == KIND_FLAG)
		return set_flag(row, value, where);
	return set_text(row, value, where);
}

static void set_defaults(void)
{
	memset(lines, 0, sizeof(lines));
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].kind == KIND_INT)
			*(int64_t *)slot(&rows[i]) = rows[i].default_number;
		else if (rows[i].kind == KIND_TEXT || rows[i].kind == KIND_SECRET || rows[i].kind == KIND_CHOICE)
			*(const char **)slot(&rows[i]) = rows[i].default_text;
	}
}

static char *trimmed(char *s)
{
	while (*s == ' ' || *s == '\t')
		s++;
	for (size_t n = strlen(s); n && strchr(" \t\r\n", s[n - 1]); n--)
		s[n - 1] = '\0';
	return s;
}

static bool load_line(char *line, const char *path, int number)
{
	char where[WHERE_BYTES];

	/* A # starts a comment only at the start of a line or after a blank. */
	for (char *hash = strchr(line, '#'); hash; hash = strchr(hash + 1, '#')) {
		if (hash == line || hash[-1] == ' ' || hash[-1] == '\t') {
			*hash = '\0';
			break;
		}
	}
	line = trimmed(line);
	if (*line == '\0')
		return true;
	char *equals = strchr(line, '=');
	if (!equals) {
		fprintf(stderr, "patternd: %s:%d: expected 'name = value'\n", path, number);
		return false;
	}
	*equals = '\0';
	char *name = trimmed(line);
	const struct option_row *row = find(name, strlen(name));
	snprintf(where, sizeof(where), "%.2000s:%d: %s", path, number, row ? row->flag : "");
	if (!row)
		return option_refuse_name(where, "", name, strlen(name));
	if (lines[row - rows]) {
		fprintf(stderr, "patternd: %s: line %d has set it already\n", where, lines[row - rows]);
		return false;
	}
	lines[row - rows] = number;
	return set(row, trimmed(equals + 1), FROM_FILE, where);
}

static bool load_file(const char *path)
{
	file_path = path;
	return config_file_read(path, load_line);
}

/* Returns the value of PATTERND_X in `environment`, or NULL. */
static const char *variable(char **environment, const char *name)
{
	size_t len = strlen(name);

	for (char **e = environment; *e; e++)
		if (strncmp(*e, name, len) == 0 && (*e)[len] == '=')
			return *e + len + 1;
	return NULL;
}

static bool load_environment(char **environment)
{
	char name[OPTION_NAME_MAX];
	bool ok = true;

	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].kind == KIND_ONCE)
			continue;
		option_variable(rows[i].flag, name);
		const char *value = variable(environment, name);
		if (value)
			ok = set(&rows[i], value, FROM_VARIABLE, name) && ok;
	}
	return ok;
}

/*
 * Sets the option argv[*at], which begins with "--". If its value is the next argument, takes that,
 * too.
 */
static bool load_flag(int argc, char **argv, int *at)
{
	char where[OPTION_NAME_MAX];
	const char *name = argv[*at] + 2;
	const char *equals = strchr(name, '=');
	size_t len = equals ? (size_t)(equals - name) : strlen(name);
	const struct option_row *row = find(name, len);
	const char *value = equals ? equals + 1 : row && row->kind == KIND_FLAG ? "true" : "";

	if (!row) {
		*at += !equals && *at + 1 < argc && strncmp(argv[*at + 1], "--", 2) != 0; /* skips its value */
		return option_refuse_name("", "--", name, len);
	}
	snprintf(where, sizeof(where), "--%s", row->flag);
	if (!equals && row->kind != KIND_FLAG && row->kind != KIND_OPTIONAL) {
		if (*at + 1 >= argc) {
			fprintf(stderr, "patternd: %s needs a value (see --help)\n", where);
			return false;
		}
		value = argv[++*at];
	}
	bool ok = set(row, value, FROM_FLAG, where);
	if (row->kind == KIND_SECRET) /* it was copied above; this hides it from process lists */
		secret_hide(argv[*at] + (value - argv[*at]));
	return ok;
}

static bool load_flags(int argc, char **argv)
{
	bool ok = true;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--config") == 0) {
			i++; /* config_path has read it */
		} else if (strcmp(argv[i], "--check-config") == 0 || strncmp(argv[i], "--config=", 9) == 0) {
			continue;
		} else if (strncmp(argv[i], "--", 2) != 0) {
			bool is_folder = i > 1 && strcmp(argv[i - 1], "--embedded") == 0;
			fprintf(stderr, "patternd: unexpected argument '%s' (%ssee --help)\n", argv[i],
				is_folder ? "write --embedded=DIR; " : "");
			ok = false;
		} else {
			ok = load_flag(argc, argv, &i) && ok;
		}
	}
	return ok;
}

static bool given(int argc, char **argv, const char *flag)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], flag) == 0)
			return true;
	return false;
}

/*
 * Returns the file to read: of --config, else of PATTERND_CONFIG. NULL: none. "": --config has no
 * name.
 */
static const char *config_path(int argc, char **argv, char **environment)
{
	for (int i = 1; i < argc; i++) {
		if (strncmp(argv[i], "--config=", 9) == 0)
			return argv[i] + 9;
		if (strcmp(argv[i], "--config") == 0)
			return i + 1 < argc ? argv[i + 1] : "";
	}
	const char *path = variable(environment, "PATTERND_CONFIG");
	return path && *path ? path : NULL;
}

/* Returns the option as text. An option that is off has none. */
static struct text shown(const struct option_row *row, char *buffer, size_t size)
{
	if (row->kind == KIND_INT) {
		snprintf(buffer, size, "%lld", (long long)*(int64_t *)slot(row));
		return text_of(buffer);
	}
	if (row->kind == KIND_FLAG)
		return text_of(*(bool *)slot(row) ? "true" : "false");
	const char *value = *(const char **)slot(row);
	return row->kind == KIND_SECRET ? secret_redacted(value, buffer, size) : text_of(value);
}

static void print_source(size_t i)
{
	char name[OPTION_NAME_MAX];

	option_variable(rows[i].flag, name);
	printf("  # %s", source_names[sources[i]]);
	if (sources[i] == FROM_FILE)
		printf(" %s:%d", file_path, lines[i]);
	else if (sources[i] == FROM_VARIABLE)
		printf(" %s", name);
	printf("\n");
}

void config_print(void)
{
	char buffer[1024];

	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].kind == KIND_ONCE)
			continue;
		struct text value = shown(&rows[i], buffer, sizeof(buffer));
		if (value.at) {
			printf("%s = %s", rows[i].flag, value.at);
			print_source(i);
		} else {
			printf("# %s is off\n", rows[i].flag);
		}
	}
}

void config_out(struct json_out *o)
{
	char buffer[1024];

	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].kind != KIND_ONCE)
			out_text(o, rows[i].flag, shown(&rows[i], buffer, sizeof(buffer)));
}

/* True if both --embedded and --redis are set: users might expect their data in the other Redis. */
static bool names_two_redis(void)
{
	if (!values.embedded || sources[find("redis", 5) - rows] == FROM_DEFAULT)
		return false;
	fputs("patternd: --embedded runs its own Redis, and --redis names another: set only one of them\n", stderr);
	return true;
}

enum config_outcome config_load(int argc, char **argv, char **environment)
{
	const char *path = config_path(argc, argv, environment);

	if (given(argc, argv, "--help") || given(argc, argv, "-h")) {
		fputs(help_text, stdout);
		return CONFIG_DONE;
	}
	if (given(argc, argv, "--version")) {
		printf("patternd %s\n", PATTERND_VERSION);
		return CONFIG_DONE;
	}
	dry_run = given(argc, argv, "--check-config");
	set_defaults();
	bool ok = !path || load_file(path);
	ok = load_environment(environment) && ok;
	ok = load_flags(argc, argv) && ok;
	return ok && !names_two_redis() ? CONFIG_RUN : CONFIG_REFUSED;
}

bool config_is_changed(const char *flag)
{
	const struct option_row *row = find(flag, strlen(flag));

	assert(row);
	return *(int64_t *)slot(row) != row->default_number;
}

bool config_is_dry_run(void)
{
	return dry_run;
}

void config_free(void)
{
	for (size_t i = 0; i < ROWS; i++) {
		free(copies[i]);
		copies[i] = NULL;
	}
	values = (struct config){ 0 };
}
