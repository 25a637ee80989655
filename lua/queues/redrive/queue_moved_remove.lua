-- queue_moved_remove: removes messages that were received in order to move them, since another
-- queue has them now. Their ids are forgotten at once, so that they may come again.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  two per message: sequence and nonce of its delivery
--@reply 0..
-- The outcome is how many were removed. A delivery that is no longer current is left alone.
-- Errors: WRONGTYPE, nothing changed. O(messages * log(queue)).
--@flags allow-oom
check_types()
local removed = 0
for i = 1, #ARGV, 2 do
  local m = current_delivery(ARGV[i], ARGV[i + 1], redis.call('HGET', keys[QUEUE], ARGV[i] .. 's'))
  if m then
    forget(m)
    if has_mark(m, 'a') then
      follow(m)
    end
    removed = removed + 1
  end
end
commit()
return { removed, now }
