-- queue_put: writes the settings of a queue, and creates it if it does not exist.
-- KEYS  the keys of a queue (queues/lib_queue.lua), and the index of names (lib/made.lua)
-- ARGV  1 visibility_ms, 2 max_receives, 3 backoff_base_ms (0: at once), 4 backoff_max_ms, 5
--       dedupe_ms, 6 dead_retention_ms, 7 paused (0 or 1), 8 result_ms, 9 max_messages; each of
--       them -1: unchanged, -2: the default; 10 name and 11 key of the policy; without a name, the
--       key is '-1' or '-2'; then RULES (below); then '1' if the queue must not exist; then ''
--       (annotations are unchanged), 'all' or 'some', and what lib_queue_annotations.lua reads
--@reply 1: is_new int, settings (queue_settings), annotations [queue_annotation]...
--@reply -1 backoff_reversed: base_ms int, max_ms int
--@reply -2 strict_concurrency
--@reply -3 not_empty: blocked int, busy int
--@reply -4 ttl_within_delay: ttl_ms int, delay_ms int
--@reply -5 exists
--@reply -6 many_annotations: count int, bytes int
-- is_new is 1 when the queue was created, else 0. backoff_reversed: the base would be above the
-- longest delay; nothing changed. strict_concurrency: a strict queue would have a
-- group_concurrency. not_empty: the order would change, and the queue has messages of groups: so
-- many are blocked, and so many are ready or in flight. ttl_within_delay: the ttl_ms of a message
-- would end before it is due. exists: it must not, and does; nothing changed. many_annotations:
-- there would be too many, or too large ones.
-- First, deliveries and messages whose time has ended are settled by the old settings, as
-- queue_settle does, except for schedules.
-- Errors: WRONGTYPE, nothing changed. O(250 * log(queue)).
local result_ms, max_messages = tonumber(ARGV[8]), tonumber(ARGV[9])
local policy, policy_key = ARGV[10], ARGV[11]
local RULES =
  { 'order', 'group_concurrency', 'concurrency', 'rate', 'group_rate', 'delay_ms', 'ttl_ms', 'wait_ms',
    'dead_letter_queue', 'dedupe_by_body', 'dedupe_scope', 'max_message_bytes' }
check_types()
local reply = { 1, now, 1 - redis.call('EXISTS', keys[QUEUE]) }
if reply[3] == 0 and ARGV[#RULES + 12] == '1' then
  return { -5, now }
end
local wanted = {}
for i, name in ipairs(SETTINGS) do
  local given = tonumber(ARGV[i])
  wanted[i] = given >= 0 and given or given == -2 and UNSET[name] or setting(name)
end
if wanted[3] > wanted[4] then
  return { -1, now, wanted[3], wanted[4] }
end
local all = rules_of(queue.rules_text)
local old_order, old_limit, old_rate = all.order, all.group_concurrency, all.group_rate
for i, name in ipairs(RULES) do
  local given = ARGV[11 + i] or '-1'
  if given == '-2' or given == 'fair' or given == 'queue' or given == '0' then
    all[name] = nil
  elseif given ~= '-1' then
    local limit, window_ms, burst = given:match('^(%d+) (%d+) (%d+)$')
    all[name] = limit and { limit = tonumber(limit), window_ms = tonumber(window_ms), burst = tonumber(burst) }
      or given:match('^=(.*)$') or tonumber(given) or given
  end
end
if all.order and all.group_concurrency then
  return { -2, now }
elseif (all.ttl_ms or math.huge) <= (all.delay_ms or 0) then
  return { -4, now, all.ttl_ms, all.delay_ms }
end
local scope = ARGV[#RULES + 13] or ''
local annotated = scope ~= 'all' and redis.call('HGET', keys[QUEUE], 'annotations')
local annotations = annotated and cmsgpack.unpack(annotated) or {}
if scope ~= '' then
  local bytes
  annotations, bytes = annotations_with(annotations, ARGV, #RULES + 14)
  if #annotations > 2 * MOST_ANNOTATIONS or bytes > MOST_ANNOTATION_BYTES then
    return { -6, now, #annotations / 2, bytes }
  end
end
read_waiters()
read_room()
settle_time('250', true)

-- plan_free_groups(): how many messages of groups are ready or in flight. It plans to remove the
-- marks of other groups: of holds, and of retries that wait for their time. What these messages
-- need, they get again once they are due.
local function plan_free_groups()
  local marks = redis.call('ZRANGE', keys[BUSY], '0', '999')
  local in_use = redis.call('ZCARD', keys[BUSY]) - #marks
  for _, mark in ipairs(marks) do
    local group, kind, place = mark:match('^([^%z\1\2]+)([%z\1\2])(.*)$')
    local flight = place and place ~= '' and redis.call('ZSCORE', keys[FLIGHT], place:sub(2, 17) .. 's' .. group)
    if kind ~= HELD and (flight and tonumber(flight) >= 0 or redis.call('ZSCORE', keys[READY], place .. group)) then
      in_use = in_use + 1
    else
      plan('ZREM', keys[BUSY], mark)
      plan('ZREM', keys[GROUPS], 'h' .. group)
    end
  end
  return in_use
end
if all.order ~= old_order then
  local blocked, in_use = redis.call('ZCARD', keys[ORDER]), plan_free_groups()
  if blocked + in_use > 0 then
    return { -3, now, blocked, in_use }
  end
  commit(true)
end
all.was_limited = all.was_limited or all.group_concurrency
  or (old_limit or old_rate) and redis.call('ZCARD', keys[BUSY]) > 0 or nil
all.was_limited = all.was_limited and true
local fields = { 'layout', LAYOUT, 'wide', WIDE, 'trim_at', '0' } -- retention may be shorter now
for i, name in ipairs(SETTINGS) do
  queue.settings[name] = wanted[i]
  fields[2 * i + 5], fields[2 * i + 6] = name, format('%d', wanted[i])
end
if result_ms == -2 then
  result_ms = 0
end
local head = queue.rules_text and queue.rules_text:match('^%S+') or '-'
if result_ms > 0 or result_ms == 0 and result_ms_of(queue.rules_text) > 0 then
  head = 'result_ms=' .. format('%d', result_ms)
end
if max_messages ~= -1 then
  all.max_messages = max_messages > 0 and max_messages or nil
end
if policy ~= '' or policy_key == '-2' then
  all.policy = policy ~= '' and { policy, policy_key } or nil
end
if queue.rules_text or head ~= '-' or next(all) then
  queue.rules_text = next(all) and head .. ' ' .. cmsgpack.pack(all) or head
  fields[#fields + 1], fields[#fields + 2] = 'rules', queue.rules_text
  fields[#fields + 1], fields[#fields + 2] = 'held_until', '0' -- its policy may be another now
end
local new_rate = all.group_rate
if old_rate and not (new_rate and new_rate.limit == old_rate.limit and new_rate.window_ms == old_rate.window_ms
  and new_rate.burst == old_rate.burst) then -- held groups are looked at again
  local held = redis.call('ZRANGE', keys[GROUPS], '0', '(100000000000000', 'BYSCORE', 'LIMIT', '0', '1000')
  local scores = {}
  for i, member in ipairs(held) do
    scores[2 * i - 1], scores[2 * i] = format('%d', now), member
  end
  if scores[1] then
    redis.call('ZADD', keys[GROUPS], unpack(scores))
  end
end
add_settings(reply, queue.rules_text)
for i = 1, #annotations, 2 do
  reply[#reply + 1] = { annotations[i], annotations[i + 1] }
end
fields[#fields + 1], fields[#fields + 2] = 'changed_at', format('%d', now)
if reply[3] == 1 then
  fields[#fields + 1], fields[#fields + 2] = 'created_at', format('%d', now)
end
if annotations[1] then
  fields[#fields + 1], fields[#fields + 2] = 'annotations', cmsgpack.pack(annotations)
elseif scope ~= '' then
  redis.call('HDEL', keys[QUEUE], 'annotations')
end
redis.call('HSET', keys[QUEUE], unpack(fields))
if reply[3] == 1 then
  made = { keys[QUEUE] }
end
local spent = all.rate and redis.call('ZSCORE', keys[GROUPS], 'q')
local mended = spent and rate_mended(all.rate, spent)
if mended then
  redis.call('ZADD', keys[GROUPS], mended, 'q')
end
serve_waiters() -- the queue may have been paused, or its retries come sooner now
queue.rules = all
serve_senders() -- the queue may hold more
return reply
