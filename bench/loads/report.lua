-- For all loads: one line of JSON at the end. A load whose operation takes several requests counts
-- them in `finished`.
local threads = {}

function setup(thread)
  threads[#threads + 1] = thread
end

function done(summary, latency)
  local finished
  for _, thread in ipairs(threads) do
    local count = thread:get("finished")
    if count then finished = (finished or 0) + count end
  end
  local errors = summary.errors
  io.write(string.format(
    '{"operations":%d,"seconds":%.6f,"p50_us":%d,"p99_us":%d,"failed":%d}\n', finished or summary.requests,
    summary.duration / 1e6, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
