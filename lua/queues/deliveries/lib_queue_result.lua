-- What is kept of an acknowledged message, and which daemons wait for the end of one. Only in a
-- queue with the setting result_ms. Wants queues/lib_queue.lua.
--   ...:result:<sequence>  string: the result, JSON text; it expires with the state below
--   in the queue's hash:
--     `<sequence>s`  once acknowledged: nonce, until when that is remembered (13 digits), 'd', what
--                    became of the result ('-': none was given, 'r': it has its key, 'm': Redis had
--                    no memory), done_at_ms, kept_until_ms (13 digits each), and what the state was
--                    from its priority on
--     `<sequence>w`  daemons that wait for the end of that message: for each its instance (16 hex
--                    digits, lib/waiters.lua) and until_ms (13 digits)
--     `awaited`      the same for the whole queue, should it be deleted
-- A waiter listens on the channels ...:result:<sequence> and ...:results of its daemon. There is no
-- wait queue: the end is for all.

-- The state of a message that is acknowledged now.
local function done_state(state, remembered_until, kind, result_ms)
  return state:sub(1, 16) .. remembered_until .. 'd' .. kind .. instant .. digits(now + result_ms) .. state:sub(30)
end

-- A message that is done as a look shows it: an item of queues/lib_queue_item.lua. Its content is a
-- header and the result: it was sent when its sequence was given. nil when it is not done any more.
local function done_item(seq, state, result)
  if state:sub(30, 30) ~= 'd' or state:sub(45, 57) <= instant then
    return nil
  end
  local content = seq:sub(1, 13) .. state:sub(58, 58) .. '\n' .. result
  return { 'done', tonumber(state:sub(32, 44)), seq, content, '----------------0000000000000' .. state:sub(58) }
end

-- Wakes the waiters of a list at the daemons that it names.
local function wake_daemons(list, channel)
  for instance, until_ms in list:gmatch('(%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x)(%d%d%d%d%d%d%d%d%d%d%d%d%d)') do
    local own = channel .. '@' .. instance
    if until_ms >= instant then -- without permission for channels it is found at the end of the wait
      redis.pcall('SPUBLISH', own, '! 0')
    end
  end
end

-- The messages with these sequences have ended. One look, whatever waits.
local function wake_waiters(seqs)
  local fields, gone = {}, {}
  for i, seq in ipairs(seqs) do
    fields[i] = seq .. 'w'
  end
  for i, list in ipairs(redis.call('HMGET', queue_key, unpack(fields))) do
    if list then
      gone[#gone + 1] = fields[i]
      wake_daemons(list, queue_key .. ':result:' .. seqs[i])
    end
  end
  if gone[1] then
    redis.call('HDEL', queue_key, unpack(gone))
  end
end
