-- The open loop of wrk: each free connection sends at the next of random moments, RATE a second in all (Poisson).
-- A request is late if no connection was free at its moment; wrk's latency lacks that wait.
local ffi = require("ffi")
ffi.cdef("typedef struct { long s, ns; } moment; int clock_gettime(int, moment *);")
local threads, at, now = {}, nil, ffi.new("moment")
sent, late = 0, 0

local function clock()
    ffi.C.clock_gettime(1, now)
    return tonumber(now.s) * 1e3 + tonumber(now.ns) / 1e6
end

function setup(thread)
    table.insert(threads, thread)
    thread:set("number", #threads)
end

function init()
    math.randomseed(os.time() + 7919 * number)
    each = tonumber(os.getenv("RATE")) / tonumber(os.getenv("THREADS")) / 1e3
end

function delay()
    local present = clock()
    at = (at or present) - math.log(1 - math.random()) / each
    sent = sent + 1
    if at < present - 1 then late = late + 1 end
    return math.max(0, math.floor(at - present + 0.5))
end

function done(summary, latency)
    local wrong, all, behind = summary.errors.status, 0, 0
    for _, thread in ipairs(threads) do
        all = all + thread:get("sent")
        behind = behind + thread:get("late")
    end
    print(string.format("open loop: %d requests in %.3f s: %.1f %.1f %.1f %.1f %.1f %.1f us, %d of %d late, %d errors",
        summary.requests, summary.duration / 1e6, latency.mean, latency:percentile(50), latency:percentile(95),
        latency:percentile(99), latency:percentile(99.9), latency.max, behind, all,
        wrong + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
