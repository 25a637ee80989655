-- New messages in a plan. This part must not know where they come from. Needs
-- queues/lib_queue_plan.lua and queues/lib_queue_leap.lua.

-- read_store(): what is known of the queue, in `store_read`: `last`, the last sequence given,
-- `sent`, whether it is new, and the ids that were planned. Call it before any of that is written.
local function read_store()
  if not store_read then
    local stored = redis.call('HMGET', queue_key, 'seq', 'sent', 'layout')
    local layout = stored[3]
--@include queue_layout
    local last = tonumber(stored[1] or 0) or foreign('a hash that is not a queue')
    store_read = {
      last = math.max(last, clock[1] * 1000000 + clock[2]), sent = stored[2] or 0, is_new = not stored[1], ids = {},
    }
  end
  return store_read
end

-- store(m, body): plans to store a message under a new sequence, with its header and `body`, which
-- follows the header. Of m it uses the fields of a header, and m.at, when the message is due.
local function store(m, body)
  local s = read_store()
  local content = header_of(m) .. body
  s.last, m.seq = leap(s.last, s.ids)
  s.sent = s.sent + 1
  m.size, m.place = #content > SMALL and 'b' or '-', nil
  m.is_stateless = m.size == '-' -- so that what removes a large one need not read it
  plan('HSET', queue_key, m.seq, content)
  plan_ttl(m)
  if m.id ~= '' then
    s.ids[m.id] = true
    plan('HSET', ids_key, m.id, m.seq)
  end
  put_due(m)
end

-- plan_stored(): plans the fields of the hash that change with all stored messages.
local function plan_stored()
  local s = read_store()
  plan('HSET', queue_key, 'seq', digits(s.last))
  plan('HSET', queue_key, 'sent', digits(s.sent))
  if s.is_new then
    plan('HSET', queue_key, 'layout', LAYOUT)
  end
end
