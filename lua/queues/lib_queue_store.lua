-- New messages in a plan.

-- read_store(): what is known of the queue, in `store_read`: `last`, the last sequence given,
-- `sent`, whether it is new, and the ids that were planned. Call it before any of that is written.
local function read_store()
  if not queue.stored then
    local stored = redis.call('HMGET', keys[QUEUE], 'seq', 'sent', 'layout')
    check_layout(stored[3])
    local last = tonumber(stored[1] or 0) or foreign('a hash that is not a queue')
    queue.stored = {
      last = math.max(last, now_us), sent = stored[2] or 0, is_new = not stored[1], is_made = not stored[3],
      ids = {},
    }
  end
  return queue.stored
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
  plan('HSET', keys[QUEUE], m.seq, content)
  plan_ttl(m)
  if m.id ~= '' then
    s.ids[m.id] = true
    plan('HSET', keys[IDS], m.id, m.seq)
  end
  put_due(m)
end

-- option_refusal(options, rules_text, seq): the outcome that refuses a send for the options behind
-- its messages: -5, the queue must exist, and does not; -2, it has no results; nil: none. Without
-- `seq` the queue does not exist.
local function option_refusal(options, rules_text, seq)
  if options:find('^exists') and not seq and redis.call('EXISTS', keys[QUEUE]) == 0 then
    return -5
  elseif options:find('results$') and not (rules_text and rules_text:find('^result_ms=[1-9]')) then
    return -2
  end
  return nil
end

-- size_refusal(options): the reply that refuses messages which may be longer than the queue allows,
-- or nil. What is stored of a message is never shorter than its text and headers. `options` is the
-- argument after the messages; if it has "sized=<n>", no message is longer than n bytes.
local function size_refusal(options)
  local most = queue.rules and queue.rules.max_message_bytes
  if most and tonumber(options:match('sized=(%d+)') or math.huge) > most then
    for i = 2, #ARGV, 3 do
      if #ARGV[i] > most then
        return { -7, now, most }
      end
    end
  end
  return nil
end

-- plan_stored(): plans the fields of the hash that change with all stored messages.
local function plan_stored()
  local s = read_store()
  plan('HSET', keys[QUEUE], 'seq', format('%d', s.last))
  plan('HSET', keys[QUEUE], 'sent', format('%d', s.sent))
  if s.is_new then
    plan('HSET', keys[QUEUE], 'layout', LAYOUT)
    plan('HSET', keys[QUEUE], 'wide', WIDE)
  end
  if s.is_made then
    plan('HSET', keys[QUEUE], 'created_at', format('%d', now))
  end
end
