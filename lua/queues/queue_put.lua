-- queue_put: writes the settings of a queue, and creates it if it does not exist.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 visibility_ms, 2 max_receives, 3 backoff_base_ms (0: none), 4 backoff_max_ms, 5
--       dedupe_ms, 6 retention_ms, 7 paused (0 or 1); each of them -1: unchanged, -2: the default
-- Returns {1, now_ms, 1 when it was created else 0, the settings in that order}.
-- Errors: WRONGTYPE, nothing changed. O(1).
--@include time wake queue queue_settings
local queue = this_queue()
local reply = { 1, now, 1 - redis.call('EXISTS', queue_key) }
for i, name in ipairs(SETTINGS) do
  local given = tonumber(ARGV[i])
  queue[name] = given >= 0 and given or given == -2 and UNSET[name] or setting(queue, name)
  hset(queue_key, name, digits(queue[name]))
end
if ARGV[7] ~= '-1' then
  queue.paused = ARGV[7] == '1'
end
hset(queue_key, 'paused', queue.paused and '1' or '0')
add_settings(reply, queue)
commit()
if not queue.paused then -- it may have been, or its retries come sooner now: each waiter retries
  wake(queue_key, 1, -1)
end
return reply
