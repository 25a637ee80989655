-- queue_message_wait: looks at a message whose end a client awaits, and registers the daemon of
-- that client.
-- KEYS  the keys of a queue (queues/lib_queue.lua), and ...:result:<sequence>
-- ARGV  1 sequence, 2 instance of the daemon (16 hex digits, lib/waiters.lua), '' for the last
--       look, 3 how long it may still wait, ms
--@reply 0: look_at_ms int, message [queue_message]
--@reply -1 absent
-- look_at_ms is when time alone may end the message; -1: only another script can end it. A message
-- that has not ended has its content only in the last look.
-- Errors: WRONGTYPE, nothing changed. O(log(queue)), O(daemons that wait for this message).
--@flags allow-oom
local seq, instance, wait_ms = ARGV[1], ARGV[2], ARGV[3]
local lists = redis.call('HMGET', keys[QUEUE], seq .. 'w', 'awaited', 'layout')
check_layout(lists[3])
local m, state, done = find_sequence(seq, nil)
if state == 'done' then
  local kind = done:sub(31, 31)
  local item = done_item(seq, done, kind == '-' and 'null' or kind == 'r' and redis.call('GET', KEYS[14]) or '')
  return item and { 0, now, -1, item } or { -1, now }
elseif not m or state == 'expired' then
  return { -1, now }
elseif state == 'dead' or instance == '' then
  return { 0, now, -1, item_of(m, state) }
end

-- with_daemon(list, until_text): the list without daemons whose time to wait has ended, and with
-- this daemon until until_text (13 digits). Returns nil if the list already has this daemon until
-- then or later.
local function with_daemon(list, until_text)
  local kept = {}
  for i = 1, #list, 29 do
    local other, until_then = list:sub(i, i + 15), list:sub(i + 16, i + 28)
    if other == instance and until_then >= until_text then
      return nil
    elseif other ~= instance and until_then >= instant then
      kept[#kept + 1] = list:sub(i, i + 28)
    end
  end
  return table.concat(kept) .. instance .. until_text
end

local waits_until, changes = now + wait_ms, {}
local own = with_daemon(lists[1] or '', format('%d', waits_until))
if own then
  changes = { seq .. 'w', own }
end
if with_daemon(lists[2] or '', format('%d', waits_until)) then -- a minute more, so that the next wait need not write
  append(changes, 'awaited', with_daemon(lists[2] or '', format('%d', waits_until + 60000)))
end
if changes[1] then
  redis.call('HSET', keys[QUEUE], unpack(changes))
end

local look_at = -1
if state == 'in_flight' then
  local most = m.max_receives > 0 and m.max_receives or setting('max_receives')
  look_at = (m.expires_at > 0 or m.receives >= most) and m.at or -1
elseif m.expires_at > 0 then
  look_at = m.expires_at
end
m.content = ''
return { 0, now, look_at, item_of(m, state) }
