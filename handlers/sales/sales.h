/* sales: what the handlers of sales and of their claims share. */
#ifndef PATTERND_SALES_H
#define PATTERND_SALES_H

#include "common/handler.h"

/* A sale's state, as the contract's enum has it. */
enum {
	SALE_UPCOMING = SALE_LIST_STATE_UPCOMING,
	SALE_OPEN = SALE_LIST_STATE_OPEN,
	SALE_CLOSED = SALE_LIST_STATE_CLOSED
};
extern const char *const sale_state_names[];

/* A call with the keys of a sale (lua/sales/lib_sale.lua). */
struct call *sale_call(struct request *req, const struct script *s, struct text sale);

/* `closes_at_ms` is 0 for a sale that never closes. */
int sale_state(const struct request *req, int64_t opens_at_ms, int64_t closes_at_ms);

/* A limit or an instant; 0 is null. */
void sale_out_setting(struct json_out *o, const char *key, int64_t value);

#endif
