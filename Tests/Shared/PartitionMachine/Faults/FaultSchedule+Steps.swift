import Contracts
import EventLog
import Foundation
import Machines
import TestSupport
import Timeline

@testable import Postgres
@testable import Runtime

// The steps of a batch, and what can happen to each.
extension FaultSchedule {
    /// Lets a process do its next step.
    mutating func advance(_ process: Int) throws {
        switch processes[process].request {
        case nil:
            processes[process].queueWaiting(position: database.cursor.position, now: now)
            if let event = processes[process].begin() { try send(event, to: process) }
        // The server answers it.
        case .commit: return
        case .step(let step):
            if has(.refusals), chance(4), let failure = refusal(of: step) { return try send(failure, to: process) }
            if let event = try result(of: step, process) { try send(event, to: process) }
        }
    }

    /// Returns the result of a step; nil if it waits.
    private mutating func result(of step: Machine.Action, _ process: Int) throws -> Machine.Event? {
        switch step {
        case .gather(let request):
            if let assumption = request.assumption, chance(80) {
                let known = processes[process].cache.filter { request.keys.contains($0.key) }
                if known.count == Set(request.keys).count {
                    return .gathered(BatchInput(assumption, aggregates: known))
                }
            }
            guard database.cursorLock == nil else {
                if case .gathering(let attempt) = processes[process].machine.phase, !attempt.plan.isAlone {
                    return .skipped
                }
                return chance(50) ? .failed(Failures.lock, isShared: false) : nil
            }
            var input = database.input(request, now: now)
            try processes[process].useCache(&input) { [database, changedByOthers] cached in
                changedByOthers.contains(cached.key)
                    || database.states[cached.key]?.eventCount ?? 0 == cached.eventCount
            }
            processes[process].session = open(process)
            return .gathered(input)
        case .findSuspects(let names): return .suspectsFound(names.filter { database.records[$0] != nil })
        case .recordCommands(let names):
            let tries = database.record(names, now: now)
            closeTransaction(process)
            return .commandsRecorded(tries)
        case .recordTrial(let name):
            let tries = database.record([name], now: now)
            closeTransaction(process)
            return .trialRecorded(tries: tries[name] ?? 0)
        case .readUnread(let keys, let after, let upTo):
            return .unreadFound(database.unread(keys, after: after, upTo: upTo))
        case .settle(let request):
            // The lock waits for the end of the old transaction.
            guard database.cursorLock == nil else {
                return chance(database.without == .certainFailures ? 50 : 3) ? .settled(.unknown) : nil
            }
            let settlement = database.settle(request)
            if settlement == .notCommitted {
                let isCommitted = processes[process].taken.contains { committed.contains($0.id) }
                try require(!isCommitted, "a batch that was committed counts as committed, or as unknown")
            }
            return .settled(settlement)
        case .pause(let time):
            now += time
            return .resumed
        default: throw Violation("the machine asks for an unknown step")
        }
    }

    /// A failure of the database that changes nothing.
    private mutating func refusal(of step: Machine.Action) -> Machine.Event? {
        switch step {
        case .gather, .findSuspects, .recordCommands, .recordTrial, .readUnread:
            .failed(chance(50) ? Failures.lock : Failures.fullDisk.error, isShared: false)
        default: nil
        }
    }

    /// Passes an event to the machine of a process, and executes the actions.
    mutating func send(_ event: Machine.Event, to process: Int) throws {
        let actions = processes[process].machine.handle(event, now: now)
        processes[process].request = nil
        if isFatal(process) { return end(process) }
        for action in actions { try execute(action, process) }
        guard case .step(let step) = processes[process].request else { return closeTransaction(process) }
        guard step.keepsTransaction else { return closeTransaction(process) }
        guard case .commit(let commit) = step else { return }
        guard commit.assumption == nil else { return try sendAssuming(commit, process) }
        sendCommit(commit, process)
    }

    /// Sends the pipeline of a batch that assumes. It fails at once if another session holds the cursor.
    private mutating func sendAssuming(_ commit: BatchCommit<Counter>, _ process: Int) throws {
        let isUncertain = database.without == .certainFailures
        if has(.lostConnections), chance(isUncertain ? 40 : 3) {
            let error: any Error = isUncertain ? Failures.lost : Failures.away
            return try send(.failed(error, isShared: false), to: process)
        }
        guard database.cursorLock == nil else {
            return try send(.failed(Failures.guarded, isShared: false), to: process)
        }
        processes[process].session = open(process)
        sendCommit(commit, process)
    }

    private mutating func closeTransaction(_ process: Int) {
        close(processes[process].session)
        processes[process].session = nil
    }

    private func isFatal(_ process: Int) -> Bool {
        guard let batch = processes[process].decided else { return false }
        return batch.events.contains { $0.causation.map(fatalEvents.contains) ?? false }
            || processes[process].accepted(batch).contains { commands[$0.command].isFatal }
    }

    private mutating func sendCommit(_ commit: BatchCommit<Counter>, _ process: Int) {
        guard let session = processes[process].session else { return }
        let calls = processes[process].accepted(commit.batch)
        sent.formUnion(processes[process].taken.map(\.id))
        sessions[session]?.commit = commit
        sessions[session]?.calls = calls
        sessions[session]?.isBad =
            calls.contains { commands[$0.command].isBad }
            || commit.batch.events.contains { $0.causation.map(badEvents.contains) ?? false }
        processes[process].request = .commit(session: session)
    }

    // MARK: The server

    /// Lets the server work on a commit.
    mutating func serve(_ session: Int) throws {
        guard let open = sessions[session], let commit = open.commit else { return }
        guard database.isHeadFree else {
            guard has(.slowSessions), chance(20) else { return }
            return try answer(open, session, .failed(lockTimeout, isShared: false))
        }
        if open.isBad {
            let refusal: any Error = database.without == .dividedBatches ? Failures.away : Failures.badData
            return try answer(open, session, .failed(refusal, isShared: false))
        }
        if has(.sharedFailures), chance(5), let process = open.process, mayShare(process) {
            return try answer(open, session, .failed(Failures.conflict, isShared: true))
        }
        if has(.refusals), chance(6) {
            let errors = [Failures.noRights, Failures.conflict, Failures.fullDisk]
            let error = errors[Int.random(in: 0..<errors.count, using: &random)]
            return try answer(open, session, .failed(error, isShared: false))
        }
        let head: Int
        do { head = try database.commit(commit) } catch let refusal as CommitFailure {
            return try answer(open, session, .failed(refusal, isShared: false))
        }
        for call in open.calls { try noteCommit(call) }
        if has(.lostConnections), chance(8) {
            return try answer(open, session, .failed(Failures.lost, isShared: false))
        }
        try answer(open, session, .committed(head: head))
    }

    private var lockTimeout: CommitFailure { CommitFailure(error: Failures.lock, dataQueries: 2) }

    private func mayShare(_ process: Int) -> Bool {
        guard case .committing(let attempt, _, _, _, _) = processes[process].machine.phase else { return false }
        return !attempt.plan.isAlone
    }

    private mutating func answer(_ open: Session, _ session: Int, _ event: Machine.Event) throws {
        close(session)
        guard let process = open.process else { return }
        processes[process].session = nil
        try send(event, to: process)
    }

    private mutating func noteCommit(_ call: FaultCall) throws {
        let id = call.id
        try require(committed.insert(id).inserted, "no request is committed twice")
        try require(!refused.contains(id), "a refused request changes nothing")
        commands[call.command].commits += 1
        try require(commands[call.command].commits == 1, "no command is committed twice")
    }

    // MARK: Faults

    /// Ends the connection of a process. The server may notice later, and a sent commit may still succeed.
    mutating func loseConnection(_ process: Int) throws {
        switch processes[process].request {
        case nil: return
        case .commit(let session):
            sessions[session]?.process = nil
            processes[process].session = nil
            try send(.failed(Failures.lost, isShared: false), to: process)
        case .step(.pause), .step(.settle): return
        case .step:
            if let session = processes[process].session { sessions[session]?.process = nil }
            processes[process].session = nil
            try send(.failed(Failures.away, isShared: false), to: process)
        }
    }

    /// Ends a process. Its clients get no answer, and another process takes its place.
    mutating func end(_ process: Int) {
        for session in sessions.keys where sessions[session]?.process == process { sessions[session]?.process = nil }
        lastDeath = now
        for call in processes[process].calls { noteLost(call) }
        processes[process] = FaultProcess(member: uuid(), now: now)
    }

    /// Ends all sessions of the server. Sent commits succeed or not.
    mutating func restart() throws {
        for session in sessions.keys.sorted() where sessions[session]?.commit != nil && chance(50) {
            sessions[session]?.process = nil
            try serve(session)
        }
        for session in sessions.keys.sorted() {
            sessions[session]?.process = nil
            close(session)
        }
        if database.appending != nil { try database.endAppend(commits: false) }
        for process in processes.indices { try loseConnection(process) }
    }
}
