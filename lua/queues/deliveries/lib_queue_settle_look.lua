-- The states of the deliveries that queue_delivery_settle and queue_delivery_complete end, in the
-- order of ARGV. This part must not know which deliveries are current. Needs queues/lib_queue.lua.
local first_completed = 3 + 2 * tonumber(ARGV[1])
local first_rejected = first_completed + 3 * tonumber(ARGV[2])
local count, fields, at = 0, {}, 3
while ARGV[at] do
  count = count + 1
  fields[count] = ARGV[at] .. 's'
  at = at + (at < first_completed and 2 or at < first_rejected and 3 or 5)
end
fields[count + 1], fields[count + 2], fields[count + 3] = 'layout', 'rules', 'full'
local states = redis.call('HMGET', queue_key, unpack(fields))
local layout, rules_text, frees = states[count + 1], states[count + 2], states[count + 3]
--@include queue_layout
