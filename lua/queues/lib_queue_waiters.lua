-- Wants queues/lib_queue.lua.

-- serve_waiters(): after more messages are ready, or may be so sooner.
local function serve_waiters()
  if redis.call('ZCARD', waiters_key) > 0 then
--@include waiters queue_serve
    local w = waiters_read(queue_key, waiters_key, now, '')
    waiters_settle(w)
    serve(w)
  end
end
