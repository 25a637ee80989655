-- The wait queue of receivers, for scripts that may make messages ready.

-- read_waiters(): reads the wait queue, once. Call it before the first write of a script that
-- serves the waiters: it fails for a sorted set that is not a wait queue.
local function read_waiters()
  if queue.waiting == nil and redis.call('ZCARD', keys[WAITERS]) > 0 then
    queue.waiting = waiters_read(keys[QUEUE], keys[WAITERS], now, '')
  end
  queue.waiting = queue.waiting or false
end

-- serve_waiters(): serves the waiters. Call it when more messages are ready, or when a message may
-- be ready sooner than before.
local function serve_waiters()
  if queue.waiting then
    waiters_settle(queue.waiting)
    serve(queue.waiting)
  end
end
