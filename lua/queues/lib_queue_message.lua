-- A message as a table: seq, and its content or its state. If they are known, it also has
-- `content`, `place` (its sorted set), `member` there, and `at` (due_ms, sent_at_ms if it is
-- blocked, visible_until_ms or died_at_ms). This module must not know Redis, or what a body
-- contains.
local NO_NONCE, NO_END = '----------------', '0000000000000'

-- read_header(content): the table of a content. It reads no more than the header.
local function read_header(content)
  local sent_at, priority, mark = content:match('^(%d%d%d%d%d%d%d%d%d%d%d%d%d)(%d)([\n\t])')
  local expires_at, max_receives, id, group, backoff = 0, 0, '', '', ''
  if mark == '\t' then
    expires_at, max_receives, id, group, backoff =
      content:match('^(%d+)\t(%d+)\t([^\t\n]*)\t([^\t\n]*)\t([%d:]*)\n', 16)
  end
  if not sent_at or not expires_at then
    foreign('a content that is not a message')
  end
  return {
    sent_at = tonumber(sent_at), priority = priority, expires_at = tonumber(expires_at),
    max_receives = tonumber(max_receives), id = id, group = group, backoff = backoff, marks = '', progress = '',
    nonce = NO_NONCE, ends = NO_END, receives = 0, worker = '', reason = '', size = #content > SMALL and 'b' or '-',
  }
end

-- header_of(m): the header of a content. body_of(content): what follows the header.
local function header_of(m)
  local sent = format('%d', m.sent_at) .. m.priority
  if m.expires_at == 0 and m.max_receives == 0 and m.id == '' and m.group == '' and m.backoff == '' then
    return sent .. '\n'
  end
  return sent .. '\t' .. format('%d\t%d', m.expires_at, m.max_receives) .. '\t' .. m.id .. '\t' .. m.group .. '\t' ..
    m.backoff .. '\n'
end
local function body_of(content)
  return content:sub(content:find('\n', 15, true) + 1)
end

-- read_state(state): the table of a state; it has no sent_at.
local function read_state(state)
  local nonce, ends, priority, size, receives, more =
    state:match('^(................)(%d%d%d%d%d%d%d%d%d%d%d%d%d)(%d)([b-])(%d+)(.*)$')
  local expires_at, max_receives, id, group, backoff, marks, progress, worker, reason = 0, 0, '', '', '', '', '', '', ''
  if more and more ~= '' then
    expires_at, max_receives, id, group, backoff, marks, progress, worker, reason = more:match(
      '^\t(%d+)\t(%d+)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t(.*)$')
  end
  if not nonce or not expires_at then
    foreign('a state that is not a message')
  end
  return {
    nonce = nonce, ends = ends, priority = priority, size = size, receives = tonumber(receives),
    expires_at = tonumber(expires_at), max_receives = tonumber(max_receives), id = id, group = group,
    backoff = backoff, marks = marks, progress = progress, worker = worker, reason = reason,
  }
end

local function state_of(m)
  local text = m.nonce .. m.ends .. m.priority .. m.size .. format('%d', m.receives)
  local options = m.id .. '\t' .. m.group .. '\t' .. m.backoff .. '\t' .. m.marks .. '\t' .. m.progress .. '\t' ..
    m.worker .. '\t' .. m.reason
  if m.expires_at == 0 and m.max_receives == 0 and options == '\t\t\t\t\t\t' then
    return text
  end
  return text .. '\t' .. format('%d\t%d', m.expires_at, m.max_receives) .. '\t' .. options
end
