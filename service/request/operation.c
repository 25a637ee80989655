#include "request/operation.h"

/* The indexes of a gateway are behind the indexes of the contract. */
static const struct operation *gateway;
static size_t gateway_count;

void operation_add_gateway(const struct operation *ops, size_t count)
{
	gateway = ops;
	gateway_count = count;
}

size_t operation_indexes(void)
{
	return operation_count + gateway_count;
}

size_t operation_index(const struct operation *op)
{
	if (op >= operations && op < operations + operation_count)
		return (size_t)(op - operations);
	if (gateway_count && op >= gateway && op < gateway + gateway_count)
		return operation_count + (size_t)(op - gateway);
	return operation_indexes();
}

const char *operation_name(size_t i)
{
	if (i < operation_count)
		return operations[i].id;
	return i < operation_indexes() ? gateway[i - operation_count].id : "none";
}
