/* figures: GET .../history of one name: samples of its figures (process/named.h). */
#ifndef PATTERND_FIGURES_H
#define PATTERND_FIGURES_H

#include "common/handler.h"
#include "process/named.h"

/*
 * Answers with the samples that were taken after `after_at_ms`, and has the name sampled from now
 * on. `out` writes the members of one sample into an open object.
 */
void figures_answer(struct request *req, struct named_kind *kind, struct text name, int64_t after_at_ms,
		    void (*out)(struct json_out *o, const double *cells));

#endif
