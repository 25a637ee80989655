-- queue_message_receive: hands out messages that are ready: from the first queue first, then by
-- priority, due time and arrival.
-- KEYS  the keys of one queue (queues/lib_queue.lua) or of several, in order of preference
-- ARGV  1 how many at most (1..100), 2 visibility_ms (-1: the queue's), 3 nonce of these deliveries
--       (16 hex digits; the first 10 become Redis's time in seconds), 4 '1': each is done at once,
--       as by queue_delivery_acknowledge; its visible_until_ms is then 0, and queue_delivery_return
--       needs its content to bring it back, 5 ticket (lib/waiters.lua), '' for a request that does
--       not wait, 6 how long it may still wait, ms; 0: this is its last try, after which it leaves
--       the wait queues; -1: the queues decide; 7 how long it has waited, us; 8 absent or '':
--       queues need not exist, '1': each queue must exist, '2': look only whether the one queue
--       exists, and take nothing; 9 the worker, percent-encoded; absent without one
--@reply -2 paying
--@reply -1 absent: queue int
--@reply 0..: more int, look_at_ms int, deliveries [queue_delivery]...
--@shape queue_delivery: sequence text, content text, stored_state text, visible_until_ms int,
-- queue int
-- The outcome is how many messages were taken. more is a sum: 1 when none was taken but the bound
-- on work was reached: call again; and twice the number, from 1, of the first queue whose dead
-- letters may be moved (queue_letters_claim). look_at_ms is when a ticket that still waits should
-- try again (-1: when it is notified). If the queues decide, it is instead the longest wait_ms that
-- they have (-1: none), for which the request may wait with a ticket. queue is counted from 0.
-- absent has the first queue that does not exist; nothing is changed then. A paused queue hands out
-- nothing. A waiter takes nothing while others wait before it; these are called.
-- A replay returns the deliveries that are still current, with their present visible_until_ms; with
-- ARGV[4] it returns all of them, as before. What a policy admits is recorded later
-- (queue_delivery_pay). paying: the first request took the messages less than 2 s ago, and may
-- still ask the policy.
-- The script also makes the messages of schedules that came due (50). It makes messages ready that
-- came due (500 per queue; if more came due at once, the next call moves the rest, behind the
-- messages that are ready then). It settles deliveries whose visibility ended (100), drops messages
-- past their ttl (1000), and trims (queues/lib_queue_trim.lua). The bodies of one reply have at
-- most 1 MiB together, unless the first alone is longer.
-- Errors: WRONGTYPE, nothing changed. O(queues + taken * log(queue)), however many messages wait.
-- It runs without memory as well: a full Redis must be able to drain.
-- Where a message is, and what moves it (this script: *):
--
--   sent --later--> DELAYED --due *--+     +------------ redriven ------------ DEAD
--     |                ^             |     |                                    ^
--     +--due now-------|-------------+-----+                                    | too often *
--                      |             |                                          |
--                      |      of a group that is busy --> BLOCKED               |
--                      |             |                     |   ^                |
--                      |             v           head *    |   | group held *   |
--                      |           READY <-----------------+   |                |
--                      |             |  +----------------------+                |
--                      |           taken *                                      |
--                      |             v                                          |
--                      +--------- IN FLIGHT ---- rejected, visibility ended * --+
--                     backoff        |
--                                    +---- acknowledged ----> gone
--
-- Of the due messages of a group one is ready, its head; the others are blocked. The first of these
-- is the next head once the head was taken or, when the group has as many in flight as it may, once
-- one in flight is gone. A head whose group is paused, or has spent its rate, is blocked again, and
-- the group is held until that instant (queues/groups/lib_queue_groups.lua). A cancelled, expired
-- or purged message is gone.
--@flags allow-oom
--@idempotent proof
--@plain
-- Small messages of one queue that has no rules and no other waiters, while nothing came due or
-- ended. `known` is what was read.
local most, visibility_ms, nonce, done, ticket, worker = ARGV[1], ARGV[2] + 0, ARGV[3], ARGV[4], ARGV[5], ARGV[9] or ''
local existence = ARGV[8] or ''
local is_one = not KEYS[QUEUE_KEYS + 1] and most ~= '0' and done ~= '1' and existence == ''
local settings = is_one and redis.call('HMGET', KEYS[QUEUE], 'paused', 'visibility_ms', 'trim_at', 'schedule_at',
  'layout', 'rules', 'group_paused_until') or {}
local instant = format('%d', now)
if visibility_ms < 0 then
  visibility_ms = tonumber(settings[2] or 30000) or -1
end
known = is_one and { settings = settings } or nil
if is_one and visibility_ms >= 0 and (settings[5] or LAYOUT) == LAYOUT and not settings[6] and not settings[7] then
  known.due = redis.call('ZCOUNT', KEYS[DELAYED], '-inf', instant)
  known.back = redis.call('ZCOUNT', KEYS[FLIGHT], '0', instant)
  known.waiters = redis.call('ZCARD', KEYS[WAITERS])
  local is_quiet = known.due == 0 and known.back == 0 and known.waiters == 0
    and (settings[1] or '0') <= instant and settings[1] ~= '1' -- it is not paused
    and settings[3] and settings[3] > instant and not (settings[4] and settings[4] + 0 <= now)
  known.page = is_quiet and redis.call('ZRANGE', KEYS[READY], '0', format('%d', most - 1)) or nil
  local page, count = known.page, known.page and #known.page or 0
  if page and count == 0 and ticket == '' then
    reply, proves, lasts_ms = { 0, now, 0, -1 }, 'lent', visibility_ms
  elseif count > 0 then
    local fields, is_plain = { nil, nil }, true
    for k = 1, count do
      local seq, n = page[k]:sub(2), 2 * k
      is_plain = is_plain and #page[k] == 17 -- small, and without a group
      fields[n - 1], fields[n] = seq, seq .. 's'
    end
    known.row = is_plain and redis.call('HMGET', KEYS[QUEUE], unpack(fields)) or nil
    local stored, visible_until = known.row, now + visibility_ms
    local ends = format('%d', visible_until)
    local delivered = clock[1] .. nonce:sub(11) .. ends
    local answer, states, flight = { count, now, 0, -1, nil }, { nil, nil }, { nil, nil }
    for n = 2, stored and 2 * count or 0, 2 do
      local content, state, priority = stored[n - 1], stored[n], page[n / 2]:sub(1, 1)
      local mark, receives, options, rest = content and content:byte(15), '1', '0\t0\t\t\t\t\t\t', '\t'
      if state then -- it was delivered before; it has no ttl, no group and no mark but 'f'
        receives, options, rest =
          state:match('^%d%-(%d+)\t(0\t%d+\t[^\t]*\t\t[^\t]*\tf?%d*\t[^\t]*\t)[^\t]*(\t.*)$', 30)
        receives = receives and format('%d', receives + 1)
      elseif mark ~= 10 then -- a newline: it has no options
        options = mark == 9 and content:match('^\t(0\t%d+\t[^\t\n]*\t\t[%d:]*)\n', 15)
        options = options and options .. '\t\t\t'
      end
      if not content or not options then
        is_plain = false
        break
      end
      local more = (state or mark ~= 10 or worker ~= '') and '\t' .. options .. worker .. rest or ''
      states[n] = delivered .. priority .. '-' .. receives .. more
      states[n - 1], flight[n - 1], flight[n] = fields[n], ends, fields[n]
      answer[n / 2 + 4] = { fields[n - 1], content, states[n], visible_until, 0 }
    end
    if is_plain then
      redis.call('ZREM', KEYS[READY], unpack(page))
      redis.call('ZADD', KEYS[FLIGHT], unpack(flight))
      redis.call('HSET', KEYS[QUEUE], unpack(states))
      reply, proves, lasts_ms = answer, 'lent', visibility_ms
    end
  end
end
--@operation
if granted then
  return receive_again(granted, proof)
end
local most, visibility_ms, nonce, done, ticket = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local wait_ms, waited_us, existence, worker = ARGV[6], ARGV[7], ARGV[8] or '', ARGV[9] or ''
request = {
  most = most + 0, visibility_ms = visibility_ms + 0, nonce = clock[1] .. nonce:sub(11), acknowledges = done == '1',
  ticket = ticket, wait_ms = wait_ms + 0, waited_us = waited_us + 0, worker = worker,
  first_state = worker == '' and '-1' or '-1\t0\t0\t\t\t\t\t\t' .. worker .. '\t',
  queue_count = #KEYS / QUEUE_KEYS, bytes = 0, looked_at = 0, lasts_ms = 0, reply = { 0, now, 0, -1 },
}
local reply, queues = request.reply, {}
for i = 0, request.queue_count - 1 do
  if i > 0 then
    queue_use(i)
  end
  if existence ~= '' and redis.call('EXISTS', keys[QUEUE]) == 0 then
    return { -1, now, i }
  elseif existence == '2' then
    return reply
  end
  receive_look(i)
  queues[i + 1] = queue
end
for _, one in ipairs(queues) do
  queue, keys = one, one.keys
  receive_plan()
end
for _, one in ipairs(queues) do
  queue, keys = one, one.keys
  receive_change()
  receive_choose()
end
if reply[1] > 0 then
  reply[3] = 0
end
for _, one in ipairs(queues) do
  queue, keys = one, one.keys
  receive_write()
  receive_wait()
end
if request.wait_ms < 0 then
  reply[4] = -1
  for _, one in ipairs(queues) do
    reply[4] = math.max(reply[4], one.rules and one.rules.wait_ms or -1)
  end
end
for i, one in ipairs(queues) do
  if one.policy and one.states[1] then -- behind the messages, as a row without a sequence
    reply[#reply + 1] = { '', one.policy[2], one.policy[1], 0, i - 1 }
  end
  if one.rules and one.rules.dead_letter_queue and reply[3] < 2 and redis.call('ZCARD', one.keys[DEAD]) > 0
    and tonumber(redis.call('HGET', one.keys[QUEUE], 'move_at') or 0) <= now then
    reply[3] = reply[3] + 2 * i
  end
end
return reply, request.acknowledges and 'done' or 'lent', request.lasts_ms
