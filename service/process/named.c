#include "process/named.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/loop.h"

/* What a kind has is not lost: gcc's analyzer does not see that other units own the kinds. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wanalyzer-malloc-leak"
#endif

enum { MOST_GLOBS = 32, MOST_STARS = 2, GLOB_MAX = 256 };

static struct {
	struct named_kind *kind;
	struct text glob; /* points into the text of the option */
} globs[MOST_GLOBS];
static size_t glob_count;
static struct named_kind *kinds;

void named_register(struct named_kind *kind)
{
	struct named_kind **last = &kinds;

	while (*last)
		last = &(*last)->next;
	*last = kind;
}

/* ---- Names ---- */

/*
 * `*` matches any run of bytes: if what follows the latest star differs, the star takes one more
 * byte.
 */
static bool matches(struct text glob, struct text name)
{
	size_t g = 0, n = 0, star = SIZE_MAX, taken = 0;

	while (n < name.len) {
		if (g < glob.len && glob.at[g] == '*') {
			star = g++;
			taken = n;
		} else if (g < glob.len && glob.at[g] == name.at[n]) {
			g++;
			n++;
		} else if (star != SIZE_MAX) {
			g = star + 1;
			n = ++taken;
		} else {
			return false;
		}
	}
	while (g < glob.len && glob.at[g] == '*')
		g++;
	return g == glob.len;
}

static bool admits(const struct named_kind *kind, struct text name)
{
	for (size_t i = 0; i < glob_count; i++)
		if (globs[i].kind == kind && matches(globs[i].glob, name))
			return true;
	return false;
}

/* A name without an event may be a typing error, so a name with an event replaces it. */
static bool gives_way(const struct named *n, bool to_event)
{
	bool is_idle = loop_now_us() - n->used_us > NAMED_IDLE_US;

	return n->is_admitted && !n->is_fixed && (is_idle || (to_event && !n->has_event));
}

static size_t count_of(const struct named_kind *kind, bool is_admitted)
{
	size_t count = 0;

	for (size_t i = 0; i < kind->count; i++)
		count += kind->names[i].is_admitted == is_admitted;
	return count;
}

/*
 * Returns the place for a new name that is admitted: at the end, or in place of another name. NULL:
 * there is none.
 */
static struct named *place(const struct named_kind *kind, bool for_event)
{
	struct named *idle = NULL;

	if (count_of(kind, true) < NAMED_MOST)
		return &kind->names[kind->count];
	for (struct named *n = kind->names; n < kind->names + kind->count; n++)
		if (gives_way(n, for_event) && (!idle || n->used_us < idle->used_us))
			idle = n;
	return idle;
}

/* Does what place does, for a name that is only looked at. */
static struct named *place_looked(const struct named_kind *kind)
{
	struct named *oldest = NULL;

	if (count_of(kind, false) < NAMED_LOOKED)
		return &kind->names[kind->count];
	for (struct named *n = kind->names; n < kind->names + kind->count; n++)
		if (!n->is_admitted && (!oldest || n->looked_us < oldest->looked_us))
			oldest = n;
	return oldest;
}

static bool has_table(struct named_kind *kind)
{
	if (!kind->names)
		kind->names = calloc(NAMED_MOST + NAMED_LOOKED, sizeof(*kind->names));
	return kind->names;
}

static void forget(struct named *n)
{
	free((void *)(uintptr_t)n->name.at);
	free(n->samples);
	*n = (struct named){ 0 };
}

/* Adds a name at its place. NULL: there is no place, or memory ran out. */
static struct named *add_at(struct named_kind *kind, struct named *n, struct text name)
{
	static unsigned births;

	char *room = n ? malloc(3 * name.len + 2) : NULL;
	if (!room)
		return NULL;
	kind->count += n == &kind->names[kind->count];
	forget(n);
	memcpy(room, name.at, name.len);
	room[name.len] = '\0';
	*n = (struct named){ .name = { room, name.len }, .born = ++births };
	n->label = exposition_label(room + name.len + 1, n->name);
	return n;
}

static struct named *add(struct named_kind *kind, struct text name, bool for_event)
{
	struct named *n = has_table(kind) ? add_at(kind, place(kind, for_event), name) : NULL;

	if (n)
		n->is_admitted = true;
	return n;
}

static struct named *known(struct named_kind *kind, struct text name)
{
	for (size_t i = 0; i < kind->count; i++)
		if (text_equal(kind->names[i].name, name))
			return &kind->names[i];
	return NULL;
}

/*
 * Adds `n` events to a name, and returns it. NULL: it is not admitted, or there are too many names.
 */
static struct named *use(struct named_kind *kind, struct text name, uint64_t n)
{
	struct named *it = known(kind, name);

	if (!it && admits(kind, name)) {
		it = add(kind, name, n > 0);
		kind->dropped += it ? 0 : n;
	} else if (it && !it->is_admitted && admits(kind, name)) { /* there was no room before */
		it->is_admitted = count_of(kind, true) < NAMED_MOST;
		kind->dropped += it->is_admitted ? 0 : n;
	}
	if (it) {
		it->used_us = loop_now_us();
		it->has_event |= n > 0;
	}
	return it;
}

void named_count(struct named_kind *kind, struct text name, size_t cell, uint64_t n)
{
	struct named *it = n && named_counts(kind) ? use(kind, name, n) : NULL;

	if (it)
		it->cells[cell] += (double)n;
}

void named_seen(struct named_kind *kind, struct text name)
{
	if (kind->is_on)
		use(kind, name, 0);
}

void named_duration(struct named_kind *kind, struct text name, int64_t us)
{
	if (kind->is_on && admits(kind, name))
		histogram_measure(&kind->durations, kind->histogram, us);
}

/* ---- Looks ---- */

static bool is_looked_at(const struct named *n)
{
	return n->looked_us && loop_now_us() - n->looked_us <= NAMED_LOOK_US;
}

/*
 * If the last look at a name was long ago, it was not counted since then, so its figures begin
 * again.
 */
const struct named *named_look(struct named_kind *kind, struct text name)
{
	struct named *it = known(kind, name);

	if (it && !it->is_admitted && !is_looked_at(it))
		it = add_at(kind, it, name);
	else if (!it && admits(kind, name))
		it = add(kind, name, false);
	if (!it && has_table(kind))
		it = add_at(kind, place_looked(kind), name);
	if (it)
		kind->looked_us = it->looked_us = loop_now_us();
	return it;
}

bool named_is_wanted(const struct named_kind *kind, size_t i, bool is_scraped)
{
	const struct named *n = &kind->names[i];

	return (n->is_admitted && is_scraped) || is_looked_at(n);
}

void named_sample(struct named_kind *kind, size_t i, int64_t at_ms)
{
	struct named *n = &kind->names[i];

	if (!n->samples)
		n->samples = sample_ring_new(kind->cell_count);
	if (n->samples)
		sample_ring_add(n->samples, at_ms, n->cells);
}

double *named_measured(struct named_kind *kind, size_t i)
{
	kind->names[i].measured_us = loop_now_us();
	return kind->names[i].cells;
}

/* ---- The option ---- */

static bool refuse(struct text item, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool refuse(struct text item, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "patternd: --metrics-names: '%.*s' ", (int)item.len, item.at);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("; write KIND:GLOB, like queues:ord*, where KIND is", stderr);
	for (const struct named_kind *k = kinds; k; k = k->next)
		fprintf(stderr, "%s %s", k == kinds ? "" : k->next ? "," : " or", k->kind);
	fputs("\n", stderr);
	return false;
}

static struct named_kind *kind_of(struct text word)
{
	for (struct named_kind *k = kinds; k; k = k->next)
		if (text_is(word, k->kind))
			return k;
	return NULL;
}

static bool admit(struct text item)
{
	struct text glob = item, word = text_cut(&glob, ':');
	struct named_kind *kind = kind_of(word);
	size_t stars = 0;

	for (size_t i = 0; i < glob.len; i++)
		stars += glob.at[i] == '*';
	if (!glob.at || glob.len == 0)
		return refuse(item, "names nothing to match");
	if (!kind)
		return refuse(item, "has the unknown kind '%.*s'", (int)word.len, word.at);
	if (stars > MOST_STARS || glob.len > GLOB_MAX)
		return refuse(item, "has more than %d stars or %d bytes", MOST_STARS, GLOB_MAX);
	if (glob_count == MOST_GLOBS)
		return refuse(item, "is one too many: %d are allowed", MOST_GLOBS);
	kind->is_on = true;
	globs[glob_count].kind = kind;
	globs[glob_count++].glob = glob;
	struct named *n = stars == 0 && !known(kind, glob) ? add(kind, glob, true) : NULL;
	if (n)
		n->is_fixed = true;
	return true;
}

bool named_open(const char *option)
{
	struct text rest = text_of(option);

	while (rest.len > 0)
		if (!admit(text_cut(&rest, ',')))
			return false;
	return true;
}

void named_close(void)
{
	for (struct named_kind *k = kinds; k; k = k->next) {
		for (size_t i = 0; i < k->count; i++)
			forget(&k->names[i]);
		free(k->names);
		k->names = NULL;
		k->count = 0;
		k->is_on = false;
	}
	glob_count = 0;
}

/* ---- The exposition ---- */

static void out_cell(struct exposition *e, const struct named_kind *kind, const struct named_family *f,
		     const struct named *n, size_t cell, size_t value)
{
	char number[TEXT_REAL];
	const struct text parts[] = {
		TEXT("patternd_"),
		text_of(f->name),
		TEXT("{"),
		text_of(kind->label),
		TEXT("=\""),
		n->label,
		f->label ? TEXT("\",") : TEXT(""),
		f->label ? text_of(f->label) : TEXT(""),
		f->label ? TEXT("=\"") : TEXT(""),
		f->label ? text_of(f->values[value]) : TEXT(""),
		TEXT("\"} "),
	};

	exposition_line(e, parts, sizeof(parts) / sizeof(parts[0]), text_of_real(n->cells[cell + value], number));
}

static size_t cells_of(const struct named_family *f)
{
	size_t n = 0;

	while (f->label && f->values[n])
		n++;
	return f->label ? n : 1;
}

static void out_kind(struct exposition *e, const struct named_kind *kind)
{
	size_t cell = 0;

	for (const struct named_family *f = kind->families; f < kind->families + kind->family_count; f++) {
		size_t cells = cells_of(f);
		exposition_head(e, f->name, f->type, f->help);
		for (size_t i = 0; i < kind->count; i++) {
			const struct named *n = &kind->names[i];
			bool is_fresh = n->measured_us && loop_now_us() - n->measured_us <= NAMED_STALE_US;
			bool is_shown = n->is_admitted && (is_fresh || !f->measured);
			for (size_t value = 0; value < cells && is_shown; value++)
				out_cell(e, kind, f, n, cell, value);
		}
		cell += cells;
	}
	if (kind->histogram) {
		exposition_head(e, kind->histogram->name, "histogram", kind->histogram->help);
		histogram_out(e, kind->histogram, &kind->durations, TEXT(""));
	}
}

void named_out(struct exposition *e)
{
	bool is_on = false;

	for (const struct named_kind *k = kinds; k; k = k->next) {
		is_on = is_on || k->is_on;
		if (k->is_on)
			out_kind(e, k);
	}
	if (!is_on)
		return;
	exposition_head(e, "metrics_names_dropped_total", "counter",
			"Events of names that --metrics-names admitted when 100 others were in use, by kind.");
	for (const struct named_kind *k = kinds; k; k = k->next)
		if (k->is_on)
			exposition_add(e, "patternd_metrics_names_dropped_total{kind=\"%s\"} %llu\n", k->kind,
				       (unsigned long long)k->dropped);
}
