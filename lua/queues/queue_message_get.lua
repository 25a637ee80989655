-- queue_message_get: one message, without receiving it.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 id, 2 '1': only in a queue with result_ms, 3 '1': queue_settle was called
--@reply 0: message [queue_message]
--@reply -1 absent
--@reply -2 result_kept: sequence text
--@reply -3 no_results
--@again -4 unsettled: settled int
--@first queue_settle
-- result_kept: the message is done, and its result has its own key (queue_message_wait). unsettled:
-- its state depends on what time has ended.
-- Errors: WRONGTYPE. O(log(queue)).
--@reads
local id, must_keep, settled = ARGV[1], ARGV[2], ARGV[3]
local m, state, done, seq = find(id)
if must_keep == '1' and result_ms_of(queue.rules_text) == 0 then
  return { -3, now }
elseif state == 'done' and done:sub(31, 31) == 'r' then
  return { -2, now, seq }
elseif state == 'done' then
  local item = done_item(seq, done, done:sub(31, 31) == '-' and 'null' or '')
  return item and { 0, now, item } or { -1, now }
end
if settled ~= '1' and m and (m.group ~= '' or m.place == keys[FLIGHT] and state ~= 'in_flight') and is_unsettled() then
  return { -4, now, 1 }
elseif not m or state == 'expired' then
  return { -1, now }
end
return { 0, now, item_of(m, state) }
