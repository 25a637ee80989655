-- queue_letters_read: a page of dead letters, which are to move into a queue in another slot: the
-- longest dead first, or the ones with given ids. queue_letters_store and queue_letters_remove are
-- the next steps.
-- KEYS  the keys of a queue (queues/lib_queue.lua)
-- ARGV  1 how many at most (1..100), 2... the ids, at most 100, or none; last the place: how many
--       letters, or ids, to skip
--@again 0 settled: place int
--@reply 1: is_last int, next int, letters [queue_letter]...
--@shape queue_letter: sequence text, content text, stored_state text, died_at_ms int
-- Deliveries whose visibility ended may be dead letters: at most 250 are settled first, in a
-- separate call. is_last is 1 if no letter follows. next is the place of the next ids. The contents
-- have at most 1 MiB together, unless the first alone is longer.
-- Errors: WRONGTYPE, nothing changed. O(100 * log(queue)).
local most, place, has_ids = tonumber(ARGV[1]), tonumber(table.remove(ARGV)), #ARGV > 1
check_types()
if settle_ended('250') > 0 then
  return { 0, now, place }
end
local reply, total = { 1, now, 1, place }, 0

-- add(m): adds a letter, unless the page has no room for it. Returns whether it has.
local function add(m)
  total = total + #m.content
  if #reply > 4 and total > 1048576 then
    return false
  end
  reply[#reply + 1] = { m.seq, m.content, state_of(m), m.at }
  return true
end

if has_ids then
  local i = place + 2
  while ARGV[i] do
    local m, state = find(ARGV[i])
    if state == 'dead' and not add(m) then
      break
    end
    i = i + 1
  end
  reply[3], reply[4] = ARGV[i] and 0 or 1, i - 2
  return reply
end
local kept = '(' .. format('%d', now - setting('dead_retention_ms'))
local flat = redis.call('ZRANGE', keys[DEAD], kept, '+inf', 'BYSCORE', 'LIMIT', format('%d', place), format('%d', most),
  'WITHSCORES')
local letters, next_read = messages_of(keys[DEAD], flat), 1
reply[3] = #letters < most and 1 or 0
for i, m in ipairs(letters) do
  if i >= next_read then
    next_read = add_contents(letters, i)
  end
  if not m.content then
    forget(m) -- it was lost
  elseif not add(m) then
    reply[3] = 0
    break
  end
end
commit()
return reply
