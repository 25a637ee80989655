-- The wait queue of receivers, for scripts that may make messages ready. This part must not know
-- which messages. Needs queues/lib_queue.lua.
local serve_read -- nil: the wait queue was not read; false: nothing waits there

-- read_waiters(): reads the wait queue, once. Call it before the first write of a script that
-- serves the waiters: it fails for a sorted set that is not a wait queue.
local function read_waiters()
  if serve_read == nil and redis.call('ZCARD', waiters_key) > 0 then
--@include waiters queue_serve
    local w = waiters_read(queue_key, waiters_key, now, '')
    serve_read = function()
      waiters_settle(w)
      serve(w)
    end
  end
  serve_read = serve_read or false
end

-- serve_waiters(): serves the waiters. Call it when more messages are ready, or when a message may
-- be ready sooner than before.
local function serve_waiters()
  if serve_read then
    serve_read()
  end
end
