import Contracts
import EventLog
import Foundation
import Machines
import TestSupport
import Timeline

@testable import Postgres
@testable import Runtime

/// A random schedule: several processes serve one partition of a database, and clients, other services and faults come
/// between any two steps. The same seed gives the same schedule.
///
/// It throws a ``Violation`` if a command is committed twice, an acknowledged one is lost, an offset is missing, an
/// event is skipped or handled twice, a process without the lease takes events, or a state differs from its fold.
struct FaultSchedule {
    typealias Machine = PartitionMachine<Counter>

    /// A kind of fault. Each schedule has some of them, because many faults at a time hide each other.
    enum Fault: CaseIterable {
        case lostConnections, deaths, lostLeases, restarts, refusals, badInputs, fatalInputs, otherWriters, slowSessions
        case sharedFailures
    }

    /// A transaction on the server.
    struct Session {
        /// The process; nil if the server has not noticed yet that the client is gone.
        var process: Int?
        var commit: BatchCommit<Counter>?
        var calls: [FaultCall] = []
        var isBad = false
    }

    var random: SplitMix64
    let faults: Set<Fault>
    /// Whether the clock of the database goes back, whether some events can't be read, and whether all processes derive the
    /// same ids for some commands. They depend on the seed alone, so that older seeds with other remainders keep their
    /// schedules.
    let hasClockSteps: Bool
    let hasUnreadableEvents: Bool
    let hasDerivedOrigins: Bool
    /// Whether nothing fails any more.
    var isCalm = false
    var now = ContinuousClock.now
    var database: FaultDatabase
    var processes: [FaultProcess]
    var sessions: [Int: Session] = [:]
    private var sessionCount = 0
    var commands: [FaultCommand] = []
    /// The requests of clients that the database has committed, and those with a final refusal.
    var committed: Set<UUID> = []
    var refused: Set<UUID> = []
    /// The requests of the batches whose commit was sent to the database.
    var sent: Set<UUID> = []
    /// The ids of events that the database refuses, and of those that end each process.
    var badEvents: Set<UUID> = []
    var fatalEvents: Set<UUID> = []
    var changedByOthers: Set<AggregateKey> = []
    /// For the message of a violation.
    var lastRefusal = ""
    var lastDeath: ContinuousClock.Instant?

    init(seed: UInt64, without: Guard? = nil) {
        var random = SplitMix64(seed: seed)
        faults = Set(Fault.allCases.filter { _ in Bool.random(using: &random) })
        hasClockSteps = seed % 4 == 3
        hasUnreadableEvents = seed % 4 == 2
        hasDerivedOrigins = seed % 8 == 5
        database = FaultDatabase(without: without, now: now)
        processes = []
        let count = Int.random(in: 1...3, using: &random)
        self.random = random
        for _ in 0..<count { processes.append(FaultProcess(member: uuid(), now: now)) }
    }

    mutating func run(moves: Int) throws {
        for _ in 0..<moves { try move() }
        try end()
    }

    func has(_ fault: Fault) -> Bool { !isCalm && faults.contains(fault) }
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
    mutating func uuid() -> UUID {
        withUnsafeBytes(of: (random.next(), random.next())) { UUID(uuid: $0.load(as: uuid_t.self)) }
    }

    // MARK: Moves

    private mutating func move() throws {
        now += .milliseconds(Int.random(in: 0...40, using: &random))
        let process = Int.random(in: processes.indices, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case ..<12: send(to: process)
        case ..<22: try appendOfOther()
        case ..<62: try advance(process)
        case ..<80: try serveAny()
        case ..<84: renew(process)
        case ..<86: turnGuard(process)
        case ..<88: if has(.lostConnections) { try loseConnection(process) }
        case ..<90: if has(.deaths), chance(50) { end(process) }
        case ..<92:
            if has(.lostLeases) { database.cursor.leaseUntil = now }
            // An owner renewed its lease, and then the clock went back.
            if hasClockSteps, !isCalm { database.cursor.leaseUntil = now + .seconds(600) }
        case ..<93: if has(.restarts) { try restart() }
        case ..<95: if has(.otherWriters), chance(40) { try changeByOther() }
        case ..<97: try endOrphan()
        default:
            database.time = database.time + .milliseconds(Int64.random(in: 0...3000, using: &random))
            processes[process].machine.look(now: now)
        }
    }

    private mutating func send(to process: Int) {
        let repeated = commands.indices.filter { commands[$0].idempotencyKey != nil && !commands[$0].isFinal }
        if let again = repeated.randomElement(using: &random), chance(40) { return call(again, at: process) }
        let kinds: [Counter.Command] = [.add(1), .add(2), .addIfPinged(1), .ring(after: .seconds(1)), .addThenRefuse]
        var one = FaultCommand(
            key: .device(chance(50) ? "a" : "p"), command: kinds[Int.random(in: 0..<kinds.count, using: &random)],
            idempotencyKey: chance(70) ? "k\(commands.count)" : nil)
        if has(.badInputs), chance(6) { one.isBad = true }
        if has(.fatalInputs), chance(3) { one.isFatal = true }
        if hasDerivedOrigins, one.idempotencyKey != nil, chance(50) { one.derivedID = uuid() }
        commands.append(one)
        guard one.derivedID == nil else {
            // As a broadcast, which all processes take at once.
            for other in processes.indices { call(commands.count - 1, at: other) }
            return
        }
        call(commands.count - 1, at: process)
    }

    /// Sends a command, also again while an earlier request of it is under way.
    mutating func call(_ command: Int, at process: Int) {
        let one = commands[command]
        let id = uuid()
        let origin =
            database.without == .derivedOrigins
            ? Origin(id: one.derivedID ?? id) : one.derivedID.map { Origin(derivedID: $0) } ?? Origin(id: id)
        var submission = Submission<Counter>(key: one.key, command: one.command, origin: origin) { aggregate, _ in
            Array(String(aggregate.state.total).utf8)
        }
        submission.idempotency = one.idempotencyKey.map { Idempotency(key: $0, fingerprint: []) }
        processes[process].queue.append(
            FaultCall(id: id, command: command, submission: submission, head: database.head))
    }

    private mutating func appendOfOther() throws {
        guard database.appending == nil else { return try endAppend() }
        let id = uuid()
        if has(.badInputs), chance(6) { badEvents.insert(id) }
        if has(.fatalInputs), chance(4) { fatalEvents.insert(id) }
        var data = Array("{}".utf8)
        if hasUnreadableEvents, chance(10) {
            database.unreadableEvents.insert(id)
            data = database.without == .unreadableEvents ? Counter.refused : Counter.unreadable
        }
        database.beginAppend(
            Event(
                id: id, source: "other", type: chance(80) ? "other.thing.pinged" : "other.thing.noticed", version: 1,
                key: .device(chance(70) ? "p" : "a"), app: nil, time: database.time, correlation: id, causation: nil,
                traceparent: nil, data: data))
        if chance(50) { try endAppend() }
    }

    mutating func endAppend() throws {
        try database.endAppend(commits: isCalm || chance(90))
        for index in processes.indices where chance(70) { processes[index].machine.look(now: now) }
    }

    private mutating func changeByOther() throws {
        let key = AggregateKey.device(chance(50) ? "a" : "p")
        changedByOthers.insert(key)
        try database.change(key, id: uuid())
    }

    // MARK: Leases

    /// A round of the lease keeper of a process: it renews its lease, learns that it is lost, or takes a free one.
    mutating func renew(_ process: Int) {
        let lease = processes[process].machine.lease
        let member = processes[process].member
        // The row's lock makes the statement wait until its limit.
        guard database.cursorLock == nil else { return }
        if lease != nil {
            if database.cursor.owner == member {
                database.cursor.leaseUntil = now + FaultDatabase.term
            } else {
                processes[process].machine.leaseLost()
            }
            return
        }
        guard database.cursor.owner == nil || database.isLeaseOver(at: now) else { return }
        if let owner = database.cursor.owner, owner != member { database.cursor.attempts += 1 }
        database.cursor.owner = member
        database.cursor.epoch += 1
        database.cursor.leaseUntil = now + FaultDatabase.term
        processes[process].machine.hold(
            Machine.Lease(owner: member, epoch: database.cursor.epoch), isSuspicious: database.cursor.attempts > 1,
            now: now)
    }

    /// Tells a process whether it must record commands before they run.
    mutating func turnGuard(_ process: Int) {
        let hasDeath = lastDeath.map { $0 + .seconds(60) > now } ?? false
        let records = database.records.filter { $0.key.hasPrefix("command:") }
        let condemned = records.filter { $0.value.tries >= CommandGuard.tries }.keys
        // As ``Statements/guardsCommands``.
        let hasRecord = records.values.contains { $0.tries > 1 || $0.at + .milliseconds(1500) < now }
        processes[process].machine.commandGuard.turn(hasDeath || hasRecord, condemned: Set(condemned))
        if database.without == .deletedRecords, !hasDeath, !hasRecord {
            processes[process].machine.commandGuard.noted = []
        }
    }

    // MARK: Sessions

    mutating func open(_ process: Int) -> Int {
        sessionCount += 1
        sessions[sessionCount] = Session(process: process)
        database.cursorLock = sessionCount
        return sessionCount
    }

    /// Ends a transaction, and releases its locks.
    mutating func close(_ session: Int?) {
        guard let session else { return }
        sessions[session] = nil
        if database.cursorLock == session { database.cursorLock = nil }
    }

    private mutating func serveAny() throws {
        guard let session = sessions.keys.filter({ sessions[$0]?.commit != nil }).sorted().randomElement(using: &random)
        else { return }
        try serve(session)
    }

    /// Ends a transaction whose client is gone.
    mutating func endOrphan() throws {
        guard let session = sessions.keys.filter({ sessions[$0]?.process == nil }).sorted().first else { return }
        if sessions[session]?.commit != nil, chance(50) { return try serve(session) }
        close(session)
    }
}
