-- The workers that ask a queue for messages: a hash that ends WORKERS_MS after the last receive.
-- Its fields are the workers, percent-encoded, '' for all without a name. Each has the instants of
-- the first and the last receive (13 digits each).
local WORKERS_MS, WORKERS_MOST = 3600000, 1000

-- worker_seen(text): the instants of a field; nil if its last receive was too long ago.
local function worker_seen(text)
  local first, last = text:match('^(%d%d%d%d%d%d%d%d%d%d%d%d%d)(%d+)$')
  if not first then
    foreign('an instant that is not one')
  end
  if last + 0 > now - WORKERS_MS then
    return first + 0, last + 0
  end
end
