public import Contracts
public import EventLog
import Foundation
public import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
public import Machines
import Postgres
public import Records
public import Runtime
import Telemetry

/// State that belongs to a fleet. The fleet's token may access it.
public protocol FleetMember {
    /// The fleet; nil while it belongs to none.
    var fleet: String? { get }
}

/// Runs the requests of clients on a machine: checks access, idempotency key, `If-Match` and `Dormouse-Position`.
public struct Commands<M: Machine>: Sendable {
    /// Renders the document of an answer from the state after the command and the command's own events.
    public typealias Answering<Document> = @Sendable (Aggregate<M>, [M.OwnEvent]) -> Document?

    /// The runtime of the machine.
    public let runtime: DurableRuntime<M>
    private let heads: FreshReading<[Int: Int]>

    /// Creates the commands of a runtime.
    public init(_ runtime: DurableRuntime<M>) {
        self.runtime = runtime
        heads = FreshReading(pause: .milliseconds(10)) { try await runtime.heads() }
    }

    /// Submits the command of a call about the device in its path, and answers when it is committed.
    ///
    /// - Parameters:
    ///   - fingerprint: the content for the request's fingerprint; nil for a JSON body.
    ///   - registers: whether a fleet's token may act on an aggregate that belongs to no fleet yet.
    ///   - audit: the entry of the audit trail, if the command needs one beside its events.
    ///   - problem: refuses a new request; a repeated one gets its first answer.
    ///   - answer: renders the document.
    /// - Throws: ``Problem``.
    public func submit<Document: Value>(
        _ command: M.Command, _ call: Call, fingerprint: String? = nil, registers: Bool = false,
        audit: AuditEntry? = nil, problem: Problem? = nil, answer: @escaping Answering<Document>
    ) async throws -> Reply<Document> {
        let (key, request, context) = (try call.device, call.request, call.context)
        let caller = try context.requireCaller(.operate)
        try caller.requireOwn(key)
        try await waitForPosition(request, context)
        let match = request.headers[values: .ifMatch]
        let submission = Submission<M>(
            key: key, command: command, origin: context.requester.origin,
            idempotency: try request.idempotency(of: caller, context, content: fingerprint), audit: audit,
            check: { aggregate in
                try caller.requireFleet(of: aggregate, registers: registers)
                if let problem { throw problem }
                guard !match.isEmpty else { return }
                try request.requireMatch(aggregate.eventCount == 0 ? nil : call.etag(of: aggregate))
            }, answer: { answer($0, $1)?.jsonBytes ?? [] })
        let answered = try await runtime.submit(submission) { wait in try await context.waiting { try await wait() } }
        var reply = Reply<Document>(json: answered.body)
        reply.headers[.position] = "\(answered.partition):\(answered.offset)"
        return reply
    }

    /// Submits the command of a call about the device in its path. The answer has no content.
    ///
    /// - Parameter audit: the entry of the audit trail, if the command needs one beside its events.
    public func submit(_ command: M.Command, _ call: Call, audit: AuditEntry? = nil) async throws -> NoContent {
        let reply: Reply<JSON> = try await submit(command, call, audit: audit) { _, _ in nil }
        var answer = NoContent()
        answer.headers[.position] = reply.headers[.position]
        return answer
    }

    /// Submits a command of the service itself.
    ///
    /// - Throws: the machine's refusal, or `RuntimeError`.
    @discardableResult
    public func submit(
        _ command: M.Command, to key: AggregateKey, origin: Origin,
        answer: @escaping @Sendable (Aggregate<M>, [M.OwnEvent]) -> [UInt8] = { _, _ in [] }
    ) async throws -> [UInt8] {
        try await runtime.submit(
            Submission(key: key, command: command, origin: origin, answer: answer)
        ).body
    }

    /// Returns the state that a call may read; nil if the aggregate has no events yet.
    ///
    /// - Parameters:
    ///   - key: the aggregate; the device in the path by default.
    ///   - suffices: whether the state has the needed content. If not, or if the aggregate is unknown or of
    ///     another fleet, the service first reads the latest events about it, then the state again.
    /// - Throws: ``Problem``: `not_found` for an aggregate of another fleet or device, `behind` if the service has not
    ///   read up to `Dormouse-Position`; `RuntimeError`.
    public func read(
        _ call: Call, of key: AggregateKey? = nil, suffices: @Sendable (M) -> Bool = { _ in true }
    ) async throws -> (aggregate: Aggregate<M>, version: Int)? {
        let (key, context) = (try key ?? call.device, call.context)
        let caller = try context.requireCaller(.read)
        try caller.requireOwn(key)
        try await waitForPosition(call.request, context)
        var found = try await runtime.state(key)
        let isEnough = found.map { caller.hasFleet(of: $0.aggregate, registers: false) && suffices($0.aggregate.state) }
        if isEnough != true {
            try await context.waiting { try await runtime.catchUp(with: key) }
            found = try await runtime.state(key)
        }
        try caller.requireFleet(of: found?.aggregate ?? Aggregate(key: key), registers: false)
        return found
    }

    /// Read your writes: waits until this service has read up to the request's `Dormouse-Position`.
    func waitForPosition(_ request: Request, _ context: ServiceContext) async throws {
        guard let text = request.headers[.position] else { return }
        guard let point = EncodedPosition(text) else {
            throw Problem.invalidHeader.with(detail: "Dormouse-Position must be partition:offset")
        }
        for (partition, offset) in point.offsets {
            try await waitFor(LogPosition(partition: partition, offset: Int(offset)), context)
        }
    }

    private func waitFor(_ place: LogPosition, _ context: ServiceContext) async throws {
        @Sendable func hasReached(within patience: Duration) async throws -> Bool {
            try await runtime.hasReached(partition: place.partition, offset: place.offset, within: patience)
        }
        // A position that is already reached needs no slot for waits.
        guard try await !hasReached(within: .zero) else { return }
        try await context.waiting {
            async let isThere = hasReached(within: .seconds(2))
            // No service returns a position beyond the end of the log, so it is refused at once.
            guard let head = try await heads.value()[place.partition] else {
                throw Problem.invalidHeader.with(
                    detail: "Dormouse-Position names a partition that the log does not have")
            }
            guard place.offset <= head else { throw Problem.beyondLog(place, head: head) }
            guard try await isThere else {
                throw Problem.behind.with(detail: "The service did not reach \(place) of Dormouse-Position within 2 s.")
            }
        }
    }
}

extension Caller {
    /// Requires that a device accesses only itself; another device answers `not_found`.
    fileprivate func requireOwn(_ key: AggregateKey) throws(Problem) {
        guard case .device(let own, _) = self else { return }
        guard key == .device(own) else { throw .notFound }
    }

    fileprivate func requireFleet<M: Machine>(of aggregate: Aggregate<M>, registers: Bool) throws(Problem) {
        guard hasFleet(of: aggregate, registers: registers) else { throw .notFound }
    }

    fileprivate func hasFleet<M: Machine>(of aggregate: Aggregate<M>, registers: Bool) -> Bool {
        guard case .fleet(let own) = self else { return true }
        let fleet = (aggregate.state as? any FleetMember)?.fleet
        return fleet == own || fleet == nil && registers
    }
}

extension Call {
    /// Returns the validator of a state: the number of its events.
    public func etag<M: Machine>(of aggregate: Aggregate<M>) -> ETag {
        ETag(version: aggregate.eventCount, in: context.incarnation)
    }
}
