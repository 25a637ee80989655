-- queue_pause: pauses a queue, or ends its pause. Messages in flight are not affected.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 for how many ms; 0: the pause ends; -1: until it is ended. A longer pause stays
--@reply 1 paused: until_ms int
--@reply -1 absent
-- until_ms is 0 if the queue is not paused, and 1 if it is paused without an end. absent: the queue
-- does not exist; nothing is changed.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@flags allow-oom
local pause_ms = tonumber(ARGV[1])
check_types()
if redis.call('EXISTS', keys[QUEUE]) == 0 then
  return { -1, now }
end
read_waiters()
local paused = paused_setting()
if pause_ms == 0 then
  paused = 0
elseif pause_ms < 0 then
  paused = 1
elseif paused ~= 1 then
  paused = math.max(paused, now + pause_ms)
end
queue.settings.paused = paused
redis.call('HSET', keys[QUEUE], 'paused', format('%d', paused), 'changed_at', format('%d', now))
serve_waiters()
return { 1, now, paused }
