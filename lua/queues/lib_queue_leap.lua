-- The sequence of a new message.

-- leap(last, batch): the first sequence after `last` that no sender gave as an id, in the queue or
-- in `batch` (by id), as number and text. It leaps ahead, so that a row of such ids costs few
-- steps; the next sequence must be above it.
local function leap(last, batch)
  local step, seq = 1, nil
  repeat
    last = last + step
    step = math.min(step * 2, 1048576)
    seq = format('%d', last)
  until not batch[seq] and redis.call('HEXISTS', keys[IDS], seq) == 0
  return last, seq
end
