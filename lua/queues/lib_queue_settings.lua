-- The settings of a queue, in the order in which they are put and told; what they are unset is in
-- queues/lib_queue.lua.
local SETTINGS = { 'visibility_ms', 'max_receives', 'backoff_base_ms', 'backoff_max_ms', 'dedupe_ms', 'retention_ms' }
