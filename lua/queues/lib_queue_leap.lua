-- The sequence of a message that is made. Wants queues/lib_queue.lua.

-- The first sequence after `last` that is no id which a sender gave, in the queue or in `batch` (by
-- id), as number and text. It leaps ahead, so that a row of such ids costs few steps; what follows
-- continues behind it.
local function leap(last, batch)
  local step, seq = 1, nil
  repeat
    last = last + step
    step = math.min(step * 2, 1048576)
    seq = digits(last)
  until not batch[seq] and redis.call('HEXISTS', ids_key, seq) == 0
  return last, seq
end
