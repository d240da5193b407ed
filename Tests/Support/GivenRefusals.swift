import Records
import Synchronization
import Testing

/// The refusals that were provoked so far, with their operations: what is described and never given is described wrongly.
public final class GivenRefusals: Sendable {
    /// A request that is to be refused.
    public struct Call: Sendable {
        public var method: String
        public var path: String
        public var body: [UInt8]?
        /// Of the body, where there is one.
        public var type = "application/json"
        public var headers: [String: String] = [:]

        public init(_ method: String, _ path: String, _ body: [UInt8]? = nil) {
            (self.method, self.path, self.body) = (method, path, body)
        }
    }

    public typealias Sending = @Sendable (Call) async throws -> any DescribedAnswer

    /// What depends on the service's own state or on who asks, not on what is asked; the tests of `ServiceKit` provoke it.
    public static let circumstances: Set<String> = [
        "unauthenticated", "forbidden", "behind", "rate_limited", "too_many_in_flight", "too_many_failed_credentials",
        "request_timeout", "busy", "overloaded", "stopping", "database_unavailable", "outcome_unknown", "parked",
        "state_too_large", "newer_program_needed", "internal_error",
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
        // Nothing but the status tells what HEAD was refused for.
        let isGiven =
            call.method == "HEAD" ? answer.status == operation.status(of: code) : answer.code == code
        #expect(
            isGiven, "\(call.method) \(call.path): \(answer.status) \(answer.code ?? ""), not \(code)")
        if isGiven { record(code, operation) }
    }

    /// Notes what came over a connection that a test has made itself, which must be a refusal with a code.
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

    /// What is described of some operations and was not given.
    ///
    /// - Parameter others: the codes that are provoked elsewhere.
    public func missing(
        of operations: [APIDescription.Operation], but others: Set<String> = GivenRefusals.circumstances
    ) -> [String] {
        let described = operations.flatMap { operation in
            operation.errors.subtracting(others).map { "\(operation.name) \($0)" }
        }
        return refusals.withLock { Set(described).subtracting($0).sorted() }
    }
}
