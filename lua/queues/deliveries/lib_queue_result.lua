-- What is kept of an acknowledged message, and which daemons wait for the end of a message. It is
-- only for queues with the setting result_ms, and must not know why a message ends.
--   ...:result:<sequence>  string: the result, JSON text; it expires with the state below
--   in the queue's hash:
--     `<sequence>s`  once acknowledged: nonce, until when the acknowledgement is remembered (13
--                    digits), 'd', what became of the result ('-': none was given, 'r': it has its
--                    key, 'm': Redis had no memory), done_at_ms, kept_until_ms (13 digits each),
--                    and the former state from its priority on
--     `<sequence>w`  daemons that wait for the end of that message: for each its instance (16 hex
--                    digits, lib/waiters.lua) and until_ms (13 digits)
--     `awaited`      the same for the whole queue, in case it is deleted
-- A waiter listens on the channels ...:result:<sequence> and ...:results of its daemon. Such
-- waiters are not in a wait queue, because the end is for all of them.

-- done_state(...): the state of a message that is acknowledged now.
local function done_state(state, remembered_until, kind, result_ms)
  local kept_until = format('%d', now + result_ms)
  return state:sub(1, 16) .. remembered_until .. 'd' .. kind .. instant .. kept_until .. state:sub(30)
end

-- done_item(seq, state, result): a message that is done, as an item of queues/lib_queue_item.lua.
-- Its content is a header and the result; its sequence gives the time at which it was sent. nil
-- when it is not done any more.
local function done_item(seq, state, result)
  if state:sub(30, 30) ~= 'd' or state:sub(45, 57) <= instant then
    return nil
  end
  local content = seq:sub(1, 13) .. state:sub(58, 58) .. '\n' .. result
  return { 'done', tonumber(state:sub(32, 44)), seq, content, '----------------0000000000000' .. state:sub(58) }
end

-- wake_daemons(list, channel): wakes the waiters at the daemons that a list names.
local function wake_daemons(list, channel)
  for instance, until_ms in list:gmatch('(%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x)(%d%d%d%d%d%d%d%d%d%d%d%d%d)') do
    local own = channel .. '@' .. instance
    if until_ms >= instant then -- without permission for channels, waiters learn it at the end of their wait
      redis.pcall('SPUBLISH', own, '! 0')
    end
  end
end

-- wake_waiters(seqs): wakes the waiters of messages that have ended, by one read for all of them.
local function wake_waiters(seqs)
  local fields, gone = {}, {}
  for i, seq in ipairs(seqs) do
    fields[i] = seq .. 'w'
  end
  for i, list in ipairs(redis.call('HMGET', keys[QUEUE], unpack(fields))) do
    if list then
      gone[#gone + 1] = fields[i]
      wake_daemons(list, keys[QUEUE] .. ':result:' .. seqs[i])
    end
  end
  if gone[1] then
    redis.call('HDEL', keys[QUEUE], unpack(gone))
  end
end
