-- queue_schedule_run: makes a message of a schedule now. The schedule's next instant stays, and the
-- message does not count for its limit.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 id
--@reply 1: message_id text
--@reply -1 absent, -2 overlap
-- overlap: the last message is not done, and the schedule skips. If an instant is due, its message
-- is made first, as the next receive would make it.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)).
--@idempotent
local id = ARGV[1]
check_types()
local s = fire_if_due(id, redis.call('HGET', keys[QUEUE], 'paused') == '1')
if not s then
  return { -1, now }
end
read_waiters()
local reply = { -2, now }
if s.overlap ~= 'skip' or not is_undone(s) then
  reply = { 1, now, make_message(id, s, now, now, 0, ',"requested":true') }
  put_schedule(id, s)
end
serve_waiters()
return reply
