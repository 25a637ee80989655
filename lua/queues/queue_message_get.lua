-- queue_message_get: one message, without receiving it.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 id, 2 '1': only in a queue with result_ms
--@reply 0: message [queue_message]
--@reply -1 absent
--@reply -2 result_kept: sequence text
--@reply -3 no_results
-- result_kept: the message is done, and its result has its own key (queue_message_wait).
-- Errors: WRONGTYPE. O(log(queue)).
--@include time queue queue_types queue_settings queue_message queue_change queue_ended queue_find
--@include queue_item queue_result
--@reads
local m, state, done, seq = find(ARGV[1])
if ARGV[2] == '1' and result_ms_of(queue_rules) == 0 then
  return { -3, now }
elseif state == 'done' and done:sub(31, 31) == 'r' then
  return { -2, now, seq }
elseif state == 'done' then
  local item = done_item(seq, done, done:sub(31, 31) == '-' and 'null' or '')
  return item and { 0, now, item } or { -1, now }
end
if not m or state == 'expired' then
  return { -1, now }
end
return { 0, now, item_of(m, state) }
