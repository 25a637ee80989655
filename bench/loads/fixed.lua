-- The same request over and over: METHOD [BODY].
require("report")

function init(args)
  wrk.method, wrk.body = args[1], args[2]
  if wrk.body then wrk.headers["Content-Type"] = "application/json" end
end
