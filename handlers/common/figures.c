#include "common/figures.h"

#include "call/measure.h"
#include "process/metrics.h"

static void out_samples(struct json_out *o, const struct sample_ring *samples, int64_t after_at_ms,
			void (*out)(struct json_out *o, const double *cells))
{
	int64_t at_ms;

	out_array(o, "samples");
	for (size_t i = 0; i < sample_ring_count(samples); i++) {
		const double *cells = sample_ring_at(samples, i, &at_ms);
		if (at_ms <= after_at_ms)
			continue;
		out_object(o, NULL);
		out_int(o, "at_ms", at_ms);
		out(o, cells);
		out_close(o);
	}
	out_close(o);
}

void figures_answer(struct request *req, struct named_kind *kind, struct text name, int64_t after_at_ms,
		    void (*out)(struct json_out *o, const double *cells))
{
	const struct named *n = named_look(kind, name);

	if (!n) {
		answer_no_memory(req, EFFECT_NONE);
		return;
	}
	measure_looked();
	struct json_out *o = answer_begin(req, 200);
	out_text(o, "name", name);
	out_int(o, "started_at_ms", metrics_started_at_ms());
	out_int(o, "interval_ms", MEASURE_ROUND_MS);
	out_samples(o, n->samples, after_at_ms, out);
	answer_end(req);
}
