import EventLog
import Foundation
import Logging
import Machines
import Postgres
import Runtime
import ServiceLifecycle
import TestSupport
import Timeline

// A replica of the counter as its own process, for tests that kill it.
//
//     CounterService <database URL> <partitions> serve [brittle|impatient|mended|punctual]
//     CounterService <database URL> <partitions> load <clients> <devices> [next|third]
//     CounterService <database URL> <partitions> commands
//     CounterService <database URL> <partitions> script <seed> <inputs>
//
// `load` sends commands without end. It repeats each with the same idempotency key until it is answered, and writes a
// line `ack <id>` for each. With `next` or `third` it runs a later release of the counter. `script` sends a sequence that
// depends only on the seed, then ends.

let arguments = CommandLine.arguments.dropFirst()
guard arguments.count >= 3, let partitions = Int(arguments[2]) else {
    say("usage: CounterService <database URL> <partitions> serve|load|script …")
    exit(64)
}
let mode = arguments[3]
func number(_ index: Int) -> Int { arguments.count > index - 1 ? Int(arguments[index]) ?? 0 : 0 }

var logger = Logger(label: "CounterService") { StreamLogHandler.standardError(label: $0) }
logger.logLevel = .warning
let options = try ConnectionOptions(url: arguments[1])
let replica = Replica(options: options, partitions: partitions, logger: logger)

func load<M: Machine>(_ machine: M.Type) async throws where M.Command == Counter.Command, M.Policy == Void {
    let (clients, devices) = (number(4), number(5))
    try await replica.run(machine, (), limits: StallLimits(update: .seconds(1))) {
        try await Load(runtime: $0, clients: clients, devices: devices).run()
    }
}

switch mode {
case "serve" where arguments.count > 3 && arguments[4] == "punctual":
    try await replica.run(Punctual.self, ()) { _ in try await gracefulShutdown() }
case "serve" where arguments.count > 3:
    let isImpatient = arguments[4] == "impatient"
    let faults = Faults(isBroken: isImpatient || arguments[4] == "brittle")
    let limits = isImpatient ? StallLimits(decision: .seconds(1)) : StallLimits()
    try await replica.run(Brittle.self, faults, limits: limits) { _ in try await gracefulShutdown() }
case "serve": try await replica.run(Counter.self, ()) { _ in try await gracefulShutdown() }
case "commands":
    try await replica.run(Brittle.self, Faults()) { try await Repetition(runtime: $0).run() }
case "load":
    switch arguments.last {
    case "next": try await load(NextCounter.self)
    case "third": try await load(ThirdCounter.self)
    default: try await load(Counter.self)
    }
case "script":
    let (seed, count) = (number(4), number(5))
    try await replica.run(Counter.self, ()) { runtime in
        try await Script(runtime: runtime, pool: replica.pool, partitions: partitions).run(UInt64(seed), count)
    }
default: exit(64)
}
