-- The common case: acknowledgements of messages without a group, in a queue without rules. They are
-- written here, and the script returns. If ARGV has anything else, nothing is written. This part
-- must not know groups, rules or rejections: queues/deliveries/lib_queue_settle.lua settles those.
-- Needs queues/deliveries/lib_queue_settle_look.lua.
local is_plain = not ARGV[first_completed] and not rules_text
local reply, ended, flight, done, contents, ids, timed = { count, now }, {}, {}, {}, {}, {}, {}
local remembered_until = digits(now + 150000)
for i = 1, is_plain and count or 0 do
  local seq, nonce, state = ARGV[1 + 2 * i], ARGV[2 + 2 * i], states[i]
  is_plain = state and not ended[seq] and state:sub(1, 16) == nonce and state:sub(17, 29) > instant
    and state:sub(30, 30) ~= 'd'
  local options = is_plain and state:find('\t', 32, true)
  local expires, id -- no group, no mark
  if options then
    expires, id = state:match('^\t(%d+)\t%d+\t([^\t]*)\t\t[^\t]*\t\t', options)
  end
  if not is_plain or options and not id then
    is_plain = false
    break
  end
  ended[seq], contents[i], reply[i + 2] = true, seq, 1
  ids[#ids + 1] = id ~= '' and id or nil
  timed[#timed + 1] = options and expires ~= '0' and 't' .. seq or nil
  flight[2 * i - 1], flight[2 * i] = '-' .. remembered_until, fields[i]
  done[2 * i - 1], done[2 * i] = fields[i], nonce .. remembered_until .. 'd'
end
local remember
if is_plain and ids[1] then
--@include queue_types queue_settings queue_done
  check_types()
  setting('dedupe_ms') -- a hash that is not a queue's fails here
  remember = remember_ids
end
if is_plain then
  if timed[1] then
    redis.call('ZCARD', flight_key)
    redis.call('ZREM', groups_key, unpack(timed))
  end
  redis.call('ZADD', flight_key, unpack(flight))
  redis.call('HSET', queue_key, unpack(done))
  redis.call('HDEL', queue_key, unpack(contents))
  if remember then
    remember(ids, 0)
  end
  return reply
end
