/* sales: what the handlers of sales and of their claims share. */
#ifndef PATTERND_SALES_H
#define PATTERND_SALES_H

#include "common/handler.h"

/* The state of a sale, numbered by the contract's enum. */
enum {
	SALE_UPCOMING = SALE_LIST_STATE_UPCOMING,
	SALE_OPEN = SALE_LIST_STATE_OPEN,
	SALE_CLOSED = SALE_LIST_STATE_CLOSED
};
extern const char *const sale_state_names[];

/* Starts a call with the keys of a sale (lua/sales/lib_sale.lua). */
struct call *sale_call(struct request *req, const struct script *s, struct text sale);

/* Returns the state of a sale. `closes_at_ms` is 0 for a sale that never closes. */
int sale_state(const struct request *req, int64_t opens_at_ms, int64_t closes_at_ms);

/* Writes a limit or an instant; 0 becomes null. */
void sale_out_setting(struct json_out *o, const char *key, int64_t value);

#endif
