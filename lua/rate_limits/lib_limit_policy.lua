-- The fields of a policy's hash, in the order in which scripts take and return them.
local POLICY_FIELDS = { 'algorithm', 'limit', 'window_ms', 'burst', 'count_refused', 'on_error', 'shadow', 'key_header' }
