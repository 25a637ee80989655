-- queue_put: writes the settings of a queue, and creates it if it does not exist.
-- KEYS  the queue's (queues/lib_queue.lua), and the index of names (lib/names.lua)
-- ARGV  1 visibility_ms, 2 max_receives, 3 backoff_base_ms (0: at once), 4 backoff_max_ms, 5
--       dedupe_ms, 6 dead_retention_ms, 7 paused (0 or 1), 8 result_ms, 9 max_messages; each of them
--       -1: unchanged, -2: the default; 10 name and 11 key of the policy; without a name, the key is
--       '-1' or '-2'
--@reply 1: is_new int, settings (queue_settings)
--@reply -1 backoff_reversed: base_ms int, max_ms int
-- is_new is 1 when it was created, else 0. backoff_reversed: the settings would have this base
-- above this longest delay; nothing changed.
-- At most 250 deliveries that have ended are settled first, by the settings before.
-- Errors: WRONGTYPE, nothing changed. O(250 * log(queue)).
--@include time names queue queue_types queue_settings queue_message queue_change queue_plan
--@include queue_ended
check_types()
local reply = { 1, now, 1 - redis.call('EXISTS', queue_key) }
local wanted = {}
for i, name in ipairs(SETTINGS) do
  local given = tonumber(ARGV[i])
  wanted[i] = given >= 0 and given or given == -2 and UNSET[name] or setting(name)
end
if wanted[3] > wanted[4] then
  return { -1, now, wanted[3], wanted[4] }
end
read_waiters()
read_room()
settle_ended('250', true)
local fields = { 'trim_at', '0', 'layout', '1' } -- what is kept for a time may have to go sooner
for i, name in ipairs(SETTINGS) do
  known[name] = wanted[i]
  fields[2 * i + 3], fields[2 * i + 4] = name, digits(wanted[i])
end
local all, result_ms, max_messages = rules_of(queue_rules), tonumber(ARGV[8]), tonumber(ARGV[9])
if result_ms == -2 then
  result_ms = 0
end
if result_ms > 0 or result_ms == 0 and result_ms_of(queue_rules) > 0 then
  all.result_ms = result_ms
end
if max_messages ~= -1 then
  all.max_messages = max_messages > 0 and max_messages or nil
end
if ARGV[10] ~= '' or ARGV[11] == '-2' then
  all.policy = ARGV[10] ~= '' and { ARGV[10], ARGV[11] } or nil
end
if next(all) or queue_rules then
  local is_text = all.result_ms and not all.max_messages and not all.policy
  queue_rules = is_text and 'result_ms=' .. digits(all.result_ms) or cmsgpack.pack(all)
  fields[#fields + 1], fields[#fields + 2] = 'rules', queue_rules
  fields[#fields + 1], fields[#fields + 2] = 'held_until', '0' -- by a policy that may be another now
end
add_settings(reply, queue_rules)
redis.call('HSET', queue_key, unpack(fields))
if reply[3] == 1 then
  name_made(queue_key)
end
serve_waiters() -- it may have been paused, or its retries come sooner now
rules = all
serve_senders() -- it may hold more
return reply
