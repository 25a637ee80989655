-- The dedupe ids of messages, which are remembered for a time from the send, however the message
-- ends. This module must not know what becomes of a message.
--   ...:dedupe:<digest>  string: the era, and the sequence, id and group of the first message, with
--                        tabs between. It expires dedupe_ms after the send
--   in the queue's hash:
--     `dedupe_era`       a sequence or an instant (us) that is unique in the queue. Records of
--                        another era are void: the queue was deleted or purged
-- Each message with a dedupe id has two keys, behind the keys of the queue: the digest of its
-- dedupe id, and of its group and dedupe id. A queue with the scope `group` also keeps the second.
-- The first is looked at for both scopes, so that no id is forgotten when the scope changes.

-- dedupe_begin(seq): reads what all dedupe ids need. A queue without an era gets `seq`.
local function dedupe_begin(seq)
  local known = redis.call('HMGET', keys[QUEUE], 'dedupe_era', 'dedupe_ms')
  know('dedupe_ms', known[2])
  queue.dedupe = {
    era = known[1] or seq, is_new = not known[1], next = QUEUE_KEYS + 1, records = {}, written = {},
    in_groups = queue.rules and queue.rules.dedupe_scope == 'group',
  }
end

local function dedupe_record(key)
  local records = queue.dedupe.records
  if records[key] == nil then
    local era, seq, id, group = (redis.call('GET', key) or ''):match('^(%d+)\t(%d+)\t([^\t]*)\t(.*)$')
    records[key] = era == queue.dedupe.era and { seq = seq, id = id, group = group }
  end
  return records[key]
end

-- dedupe_first(group): takes the next message with a dedupe id, and returns the first message that
-- had this id: its seq, its id, and at, when it is due (0: it is not delivered any more). nil or
-- false if there was none.
local function dedupe_first(group)
  local dedupe = queue.dedupe
  local of_id, of_group = KEYS[dedupe.next], KEYS[dedupe.next + 1]
  dedupe.next, dedupe.of_id, dedupe.of_group = dedupe.next + 2, of_id, of_group
  local first = dedupe_record(of_id)
  if dedupe.in_groups then
    first = dedupe_record(of_group) or first and first.group == group and first
  end
  if first and not first.at then
    local m, state = find_sequence(first.seq, nil)
    first.at = state == 'due' and m.at or 0
  end
  return first
end

-- dedupe_keep(seq, id, group, at): keeps the message that dedupe_first was called for as the first
-- with its dedupe id.
local function dedupe_keep(seq, id, group, at)
  local dedupe = queue.dedupe
  local record = { seq = seq, id = id, group = group, at = at }
  local text = table.concat({ dedupe.era, seq, id, group }, '\t')
  for _, key in ipairs({ dedupe.of_id, dedupe.in_groups and dedupe.of_group or nil }) do
    dedupe.records[key], dedupe.written[key] = record, text
  end
end

-- dedupe_write(): writes what dedupe_keep has kept.
local function dedupe_write()
  local dedupe, ms = queue.dedupe, setting('dedupe_ms')
  if dedupe.is_new then
    redis.call('HSET', keys[QUEUE], 'dedupe_era', dedupe.era)
  end
  for key, text in pairs(ms > 0 and dedupe.written or {}) do
    redis.call('SET', key, text, 'PX', format('%d', ms))
  end
end

-- dedupe_forget(): forgets all dedupe ids.
local function dedupe_forget()
  if redis.call('HEXISTS', keys[QUEUE], 'dedupe_era') == 1 then
    redis.call('HSET', keys[QUEUE], 'dedupe_era', format('%d', now_us))
  end
end
