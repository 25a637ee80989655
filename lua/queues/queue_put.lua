-- queue_put: puts the settings of a queue in the place of the former ones.
-- KEYS  the queue's (queues/lib_queue.lua)
-- ARGV  1 visibility_ms, 2 max_receives, 3 backoff_base_ms (0: none), 4 backoff_max_ms, 5
--       dedupe_ms, 6 retention_ms, 7 paused ('0' or '1')
-- Returns {1, now_ms}. Errors: WRONGTYPE, nothing changed. O(1).
--@include time wake queue queue_settings
for i, name in ipairs(SETTINGS) do
  hset(queue_key, name, ARGV[i])
end
hset(queue_key, 'paused', ARGV[7])
commit()
if ARGV[7] == '0' then -- it may have been paused, or its retries come sooner now: whoever waits looks once
  wake(queue_key, 1, -1)
end
return { 1, now }
