import Contracts
import EventLog
import Machines
import TestSupport
import Timeline

@testable import Runtime

// The answers to clients, and the end of a schedule.
extension FaultSchedule {
    /// Executes an action of the machine.
    mutating func execute(_ action: Machine.Action, _ process: Int) throws {
        switch action {
        case .answer(let results, _, _): try answer(results, process)
        case .failAll(let error):
            for call in processes[process].taken {
                guard error as? RuntimeError == .outcomeUnknown else {
                    try refuse(call, error)
                    continue
                }
                try require(sent.contains(call.id), "a result is unknown only after the commit was sent")
                noteLost(call)
            }
            processes[process].taken = []
        case .putBack:
            processes[process].queue.insert(contentsOf: processes[process].taken, at: 0)
            processes[process].taken = []
        case .forget: processes[process].cache = [:]
        case .adopt(let aggregates, _): processes[process].cache.merge(aggregates) { $1 }
        case .eventsLost(let loss): throw Violation("no event is lost: \(loss)")
        default: if action.isStep { processes[process].request = .step(action) }
        }
    }

    private mutating func answer(_ results: [CommandResult], _ process: Int) throws {
        let taken = processes[process].taken
        try require(results.count == taken.count, "each command of a batch has a result")
        var later: [FaultCall] = []
        for (call, result) in zip(taken, results) {
            switch result {
            case .later: later.append(call)
            case .answer:
                try require(committed.contains(call.id), "an acknowledged command is committed")
                commands[call.command].isFinal = true
            case .replay:
                try require(commands[call.command].commits == 1, "a repeated answer belongs to a committed command")
                commands[call.command].isFinal = true
            case .refused(let early as EarlyRefusal):
                var call = call
                call.submission.settledAt = early.unread
                processes[process].waiting.append(call)
            case .refused(let error): try refuse(call, error)
            }
        }
        processes[process].taken = []
        processes[process].queue.insert(contentsOf: later, at: 0)
    }

    /// A refusal says that nothing has changed.
    private mutating func refuse(_ call: FaultCall, _ error: any Error) throws {
        try require(!committed.contains(call.id), "a refused request changes nothing")
        refused.insert(call.id)
        lastRefusal = "\(error)"
        switch error as? RuntimeError {
        case .databaseUnavailable, .overloaded, .behind, .stopping: break
        // The client repeats it, if it can.
        case nil, .failed, .parked: return commands[call.command].isFinal = true
        default: throw Violation("an unexpected refusal: \(error)")
        }
        if commands[call.command].idempotencyKey == nil { commands[call.command].isFinal = true }
    }

    /// The client gets no answer, or one that says that the result is unknown.
    mutating func noteLost(_ call: FaultCall) {
        if commands[call.command].idempotencyKey == nil { commands[call.command].isFinal = true }
    }

    /// Lets everything succeed, and checks the end.
    mutating func end() throws {
        isCalm = true
        for _ in 0..<600 {
            now += .milliseconds(700)
            database.time = database.time + Interval.seconds(1)
            while sessions.values.contains(where: { $0.process == nil }) { try endOrphan() }
            if database.appending != nil { try endAppend() }
            for process in processes.indices {
                renew(process)
                turnGuard(process)
                processes[process].machine.look(now: now)
                for _ in 0..<40 where !processes[process].isIdle { try work(process) }
                // Nobody else can work while a transaction holds the lock.
                while processes[process].session != nil { try work(process) }
            }
            if isSettled { return try checkEnd() }
            callAgain()
        }
        let open = commands.count { !$0.isFinal }
        throw Violation("everything ends: \(open) commands are left, last refusal: \(lastRefusal), \(database.cursor)")
    }

    private mutating func work(_ process: Int) throws {
        try advance(process)
        for session in sessions.keys.sorted() where sessions[session]?.commit != nil { try serve(session) }
    }

    private var isSettled: Bool {
        commands.allSatisfy(\.isFinal) && processes.allSatisfy(\.isIdle) && database.appending == nil
            && database.cursor.position == database.head
    }

    /// Repeats the commands without an answer that no process has.
    private mutating func callAgain() {
        let known = Set(processes.flatMap(\.calls).map(\.command))
        for command in commands.indices where !commands[command].isFinal && !known.contains(command) {
            call(command, at: Int.random(in: processes.indices, using: &random))
        }
    }

    private func checkEnd() throws {
        try database.checkEnd()
        // A process that takes over from another one may leave its records; they expire.
        if processes.count == 1, !faults.contains(.deaths), !faults.contains(.fatalInputs) {
            for command in commands where command.commits > 0 {
                let record = command.idempotencyKey.flatMap { database.records["command:" + $0] }
                try require(record == nil, "a committed command leaves no record")
            }
        }
        for process in processes {
            try require(process.machine.quarantine.failing == nil, "no input blocks the log")
        }
    }
}
