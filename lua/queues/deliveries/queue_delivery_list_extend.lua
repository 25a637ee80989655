-- queue_delivery_list_extend: gives deliveries more time, each as queue_delivery_extend would, all
-- counted from now.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 visibility_ms (-1: the queue's); then two per delivery, no two the same: sequence, nonce;
--       last 'late': as for queue_delivery_acknowledge; else absent
--@reply 0..: visible_until_ms int, outcomes int...
-- The outcome of the reply is how many were extended. outcomes are in the order of ARGV: 1
-- extended; 2 cancelled: its message was cancelled, and the delivery ends; 0 no longer current. A
-- delivery that is no longer current does not stop the others.
-- Errors: WRONGTYPE, nothing changed. O(deliveries * log(queue)).
--@flags allow-oom
--@plain
-- Deliveries as the plain block of queue_delivery_extend has them.
local visibility_ms = tonumber(ARGV[1])
local fields, count, instant = {}, (#ARGV - 2 + #ARGV % 2) / 2, format('%d', now)
for i = 1, count do
  fields[i] = ARGV[2 * i] .. 's'
end
fields[count + 1], fields[count + 2], fields[count + 3] = 'layout', 'visibility_ms', 'full'
known = redis.call('HMGET', KEYS[QUEUE], unpack(fields))
visibility_ms = visibility_ms < 0 and tonumber(known[count + 2] or '30000') or visibility_ms
local is_plain = (known[count + 1] or LAYOUT) == LAYOUT and (visibility_ms or -1) >= 0 and not known[count + 3]
  and #ARGV % 2 == 1
local visible_until = now + (visibility_ms or 0)
local hangs_since = clock[1] - math.max(HANGING_S, (visibility_ms or 0) / 250) .. ''
local ends, answer, flight, changed = format('%d', visible_until), { 0, now, visible_until }, {}, {}
for i = 1, is_plain and count or 0 do
  local state = known[i]
  answer[i + 3] = 0
  if state and state:sub(1, 16) == ARGV[2 * i + 1] and state:sub(17, 29) > instant then
    local options, group, marks = state:find('\t', 32, true), '', ''
    if options then
      group, marks = state:match('^\t%d+\t%d+\t[^\t]*\t([^\t]*)\t[^\t]*\t([^\t]*)\t', options)
    end
    if not marks or marks:find('c', 1, true) or ends < state:sub(17, 29) or state:sub(30, 30) == 'd'
      or state < hangs_since then
      is_plain = false
      break
    end
    answer[1], answer[i + 3] = answer[1] + 1, 1
    flight[#flight + 1], flight[#flight + 2] = ends, fields[i] .. group
    changed[#changed + 1], changed[#changed + 2] = fields[i], state:sub(1, 16) .. ends .. state:sub(30)
  end
end
if is_plain and flight[1] then
  redis.call('ZADD', KEYS[FLIGHT], unpack(flight))
  redis.call('HSET', KEYS[QUEUE], unpack(changed))
end
reply = is_plain and answer or nil
--@operation
local visibility_ms = tonumber(ARGV[1])
local EXTENDED, CANCELLED, NOT_CURRENT = 1, 2, 0
local is_late, fields = #ARGV % 2 == 0 and table.remove(ARGV) == 'late', {}
local count = (#ARGV - 1) / 2
for i = 1, count do
  fields[i] = ARGV[2 * i] .. 's'
end
fields[count + 1] = 'layout'
known = known or redis.call('HMGET', keys[QUEUE], unpack(fields))
check_layout(known[count + 1])
if is_late then
  for i = 1, count do
    recall(ARGV[2 * i], ARGV[2 * i + 1], false)
  end
  known = redis.call('HMGET', keys[QUEUE], unpack(fields))
end
if visibility_ms < 0 then
  visibility_ms = setting('visibility_ms') -- which refuses what is not a number
end
local visible_until = now + visibility_ms
local reply = { 0, now, visible_until }
for i = 1, count do
  local m, is_cancelled = current_delivery(ARGV[2 * i], ARGV[2 * i + 1], known[i])
  if m then
    m.ends = format('%d', visible_until)
    plan('ZADD', keys[FLIGHT], m.ends, m.member)
    plan('HSET', keys[QUEUE], m.seq .. 's', state_of(m))
    note_hanging(m, visibility_ms)
    queue.comes_sooner = queue.comes_sooner or visible_until < m.at
    reply[1] = reply[1] + 1
  end
  reply[#reply + 1] = m and EXTENDED or is_cancelled and CANCELLED or NOT_CURRENT
end
commit()
return reply
