import Records
import Synchronization
import Testing

/// The refusals that tests have provoked so far, by operation. A described refusal that no test can provoke is an
/// error.
public final class GivenRefusals: Sendable {
    /// A request that the service must refuse.
    public struct Call: Sendable {
        public var method: String
        public var path: String
        public var body: [UInt8]?
        /// The media type of the body.
        public var type = "application/json"
        public var headers: [String: String] = [:]

        public init(_ method: String, _ path: String, _ body: [UInt8]? = nil) {
            (self.method, self.path, self.body) = (method, path, body)
        }
    }

    public typealias Sending = @Sendable (Call) async throws -> any DescribedAnswer

    /// Codes that depend on the state of the service or on the caller; the tests of `ServiceKit` provoke them.
    public static let circumstances: Set<String> = [
        "unauthenticated", "forbidden", "behind", "rate_limited", "too_many_in_flight", "too_many_failed_credentials",
        "too_many_from_address", "request_timeout", "busy", "overloaded", "stopping", "events_lost",
        "database_unavailable", "outcome_unknown", "parked", "state_too_large", "newer_program_needed",
        "internal_error",
    ]

    private let description: APIDescription
    private let send: Sending
    private let refusals = Mutex<Set<String>>([])

    public init(_ description: APIDescription, send: @escaping Sending) {
        self.description = description
        self.send = send
    }

    /// Makes a call, which must be refused with a code.
    public func refuse(_ code: String, _ call: Call) async throws {
        let answer = try await send(call)
        let operation = try #require(description.operation(call.method, call.path))
        // An answer to HEAD has no code, only a status.
        let isGiven =
            call.method == "HEAD" ? answer.status == operation.status(of: code) : answer.code == code
        #expect(
            isGiven, "\(call.method) \(call.path): \(answer.status) \(answer.code ?? ""), not \(code)")
        if isGiven { record(code, operation) }
    }

    /// Records an answer that a test received on its own connection; it must have the code.
    public func refused(_ code: String, _ method: String, _ path: String, _ text: String) throws {
        let isGiven = text.contains(#""code":"\#(code)""#)
        #expect(isGiven, "\(method) \(path): \(text), not \(code)")
        if isGiven { record(code, try #require(description.operation(method, path))) }
    }

    public func refuse(
        _ code: String, _ method: String, _ path: String, _ body: String? = nil, type: String = "application/json",
        headers: [String: String] = [:]
    ) async throws {
        var call = Call(method, path, body.map { Array($0.utf8) })
        (call.type, call.headers) = (type, headers)
        try await refuse(code, call)
    }

    private func record(_ code: String, _ operation: APIDescription.Operation) {
        refusals.withLock { _ = $0.insert("\(operation.name) \(code)") }
    }

    /// Returns the described but unprovoked refusals of operations.
    ///
    /// - Parameter others: the codes that other tests provoke.
    public func missing(
        of operations: [APIDescription.Operation], but others: Set<String> = GivenRefusals.circumstances
    ) -> [String] {
        let described = operations.flatMap { operation in
            operation.errors.subtracting(others).map { "\(operation.name) \($0)" }
        }
        return refusals.withLock { Set(described).subtracting($0).sorted() }
    }
}
