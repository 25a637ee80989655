-- The fields of a policy's hash, in the order in which scripts take and return them.
--@shape limit_policy: algorithm text, limit text, window_ms text, burst text, count_refused text,
-- on_error text, shadow text, key_header text
local POLICY_FIELDS = { 'algorithm', 'limit', 'window_ms', 'burst', 'count_refused', 'on_error', 'shadow', 'key_header' }
