-- queue_letters_claim: lets a daemon move the dead letters of a queue, for a second.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
--@reply 1 claimed: to text
--@reply 0 nothing
-- to is the queue into which they move. nothing: the queue has no dead_letter_queue or no dead
-- letters, or a move began within the last second.
-- The field `move_at` of the queue's hash is the instant from which its letters may be moved. A
-- move that leaves no letter removes it (queue_redrive_to). So all daemons together try once a
-- second while the other queue refuses letters.
-- Errors: WRONGTYPE, nothing changed. O(1). It runs without memory, so that a full Redis is not
-- asked more often.
--@flags allow-oom
check_types()
local to = queue.rules and queue.rules.dead_letter_queue
if not to or redis.call('ZCARD', keys[DEAD]) == 0
  or tonumber(redis.call('HGET', keys[QUEUE], 'move_at') or 0) > now then
  return { 0, now }
end
redis.call('HSET', keys[QUEUE], 'move_at', format('%d', now + 1000))
return { 1, now, to }
