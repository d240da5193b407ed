import Contracts
import EventLog
import Foundation
import Machines
import TestSupport
import Timeline

@testable import Postgres
@testable import Runtime

/// The batches of one partition without an engine and a database: a test reports the result of each step.
struct MachinePlay {
    typealias Machine = PartitionMachine<Counter>

    var machine: Machine
    var now = ContinuousClock.now

    init(holdsLease: Bool = true, isSuspicious: Bool = false) {
        machine = Machine(partition: 0, of: 1, policy: (), now: now)
        machine.commandGuard.turn(false, condemned: [])
        if holdsLease { hold(epoch: 1, isSuspicious: isSuspicious) }
    }

    mutating func hold(epoch: Int, isSuspicious: Bool = false) {
        machine.hold(Machine.Lease(owner: UUID(), epoch: epoch), isSuspicious: isSuspicious, now: now)
    }

    /// Begins a batch of these commands, and of the log if a look is due.
    ///
    /// - Returns: the words of the actions; nil without work.
    mutating func begin(_ submissions: [Submission<Counter>] = []) -> String? {
        let isSuspect = submissions.first.map { machine.commandGuard.isSuspect($0.name) } ?? false
        guard var plan = machine.plan(hasCommands: !submissions.isEmpty, nextIsSuspect: isSuspect) else { return nil }
        plan.portion = .seconds(3600)
        return send(.begin(plan, Array(submissions.prefix(plan.commands))))
    }

    /// Reports a result.
    ///
    /// - Returns: the words of the actions.
    @discardableResult mutating func send(_ event: Machine.Event, after time: Duration = .zero) -> String {
        now += time
        // Most inputs of these tests do not name the head that the last commit gave.
        if case .gathered(let input) = event, input.assumption == nil {
            machine.lastHead = min(machine.lastHead, input.head)
        }
        return handle(event)
    }

    /// Reports a result as it is.
    mutating func handle(_ event: Machine.Event) -> String {
        machine.handle(event, now: now).compactMap(\.word).joined(separator: ", ")
    }
}

extension PartitionMachine.Action {
    /// A short name; nil for actions that change neither callers nor the cache.
    fileprivate var word: String? {
        switch self {
        case .gather(let request): request.assumption == nil ? "gather" : "assume"
        case .findSuspects(let names): "find \(names.sorted().joined(separator: " "))"
        case .recordCommands(let names): "record \(names.sorted().joined(separator: " "))"
        case .recordTrial(let name): "try \(name)"
        case .readUnread(let keys, _, _): "unread \(keys.map(\.description).joined(separator: " "))"
        case .commit(let commit):
            commit.assumption == nil
                ? "commit \(commit.batch.events.count) at \(commit.position)"
                : "verify and commit \(commit.batch.events.count)"
        case .settle: "settle"
        case .pause(let time): "pause \(Int(time / .milliseconds(1)))"
        case .upgrade: "upgrade"
        case .answer(let results, _, _): "answer" + results.map { " \($0.word)" }.joined()
        case .failAll(let error): "fail \(error as? RuntimeError ?? .failed)"
        case .putBack: "put back"
        case .forget: "forget"
        case .adopt: "adopt"
        case .eventsLost(let loss): "lost \(loss.head)..<\(loss.knownHead)"
        case .progress(.failed(.heldUp)): "held up"
        case .progress(.failed): "failing"
        case .progress(.halted): "halted"
        case .progress(.succeeded), .wakeUp, .log: nil
        }
    }
}

extension CommandResult {
    fileprivate var word: String {
        switch self {
        case .answer: "ok"
        case .replay: "replay"
        case .refused(let error): error is EarlyRefusal ? "early" : "refused"
        case .later: "later"
        }
    }
}

extension BatchInput<Counter> {
    /// The inputs of a partition whose cursor is at 0: pings of device `p`, one at each offset.
    static func pings(_ count: Int = 0, holdsLease: Bool = true) -> BatchInput<Counter> {
        var input = BatchInput<Counter>()
        input.head = count
        input.holdsLease = holdsLease
        input.now = Instant(milliseconds: 1_000_000)
        guard holdsLease else { return input }
        let events = (0..<count).map { Event.ping(at: $0 + 1) }
        input.take(events, [], until: input.now, limit: 200)
        return input
    }
}

extension Event {
    /// A ping of device `p` by another service.
    static func ping(at offset: Int, version: Int = 1) -> Event {
        let id = UUID()
        var event = Event(
            id: id, source: "other", type: "other.thing.pinged", version: version, key: .device("p"), app: nil,
            time: Instant(milliseconds: 1000), correlation: id, causation: nil, traceparent: nil,
            data: Array("{}".utf8))
        event.offset = offset
        return event
    }
}

extension Submission<Counter> {
    /// A command that may be repeated.
    static func repeatable(_ key: String) -> Submission {
        var submission = Submission.add(1, to: "a")
        submission.idempotency = Idempotency(key: key, fingerprint: [])
        return submission
    }
}

/// Errors of the database.
enum Failures {
    static let lost = CommitFailure(error: .connectionLost(duringPipeline: true), dataQueries: 2)
    static let away = PostgresError.connectionLost(duringPipeline: false)
    static let lock = server("55P03")
    static let conflict = CommitFailure(error: server("40001"), dataQueries: 2)
    /// The fault is in the data.
    static let badData = CommitFailure(error: server("22000"), dataQueries: 2)
    /// The fault may be in the data.
    static let noRights = CommitFailure(error: server("42501"), dataQueries: 2)
    static let fullDisk = CommitFailure(error: server("53100"), dataQueries: 2)

    private static func server(_ sqlState: String) -> PostgresError {
        .server(ServerError(sqlState: sqlState, message: "refused", queryIndex: 0))
    }
}
