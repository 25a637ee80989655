-- The settings of a queue, in the order in which they are written and returned; their defaults are
-- in queues/lib_queue.lua.
local SETTINGS = { 'visibility_ms', 'max_receives', 'backoff_base_ms', 'backoff_max_ms', 'dedupe_ms', 'retention_ms' }

-- Appends the settings of a queue to a reply, at last whether it is paused (0 or 1).
local function add_settings(reply, queue)
  for _, name in ipairs(SETTINGS) do
    reply[#reply + 1] = setting(queue, name)
  end
  reply[#reply + 1] = queue.paused and 1 or 0
end
