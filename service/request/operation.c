#include "request/operation.h"

size_t operation_index(const struct operation *op)
{
	bool is_listed = op >= operations && op < operations + operation_count;

	return is_listed ? (size_t)(op - operations) : operation_count;
}

const char *operation_name(size_t i)
{
	return i < operation_count ? operations[i].id : "none";
}
