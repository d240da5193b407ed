/// Asks a service again and again that is to come to a `Dormouse-Position` first: it waits two seconds at most, and answers
/// `behind` then.
///
/// - Parameters:
///   - code: of an answer that is a problem.
///   - ask: sends the position; it must be one that the service will come to.
/// - Returns: the first other answer.
/// - Throws: ``TimedOut``, or what asking throws.
public func onceCaughtUp<Answer: Sendable>(
    code: @escaping @Sendable (Answer) -> String?, _ ask: @escaping @Sendable () async throws -> Answer
) async throws -> Answer {
    let found = Signal<Answer>()
    try await eventually(within: 60, describe: "the service has come to the position") {
        let answer = try await ask()
        return code(answer) == "behind" ? false : found.fire(answer)
    }
    return try await found.value()
}
