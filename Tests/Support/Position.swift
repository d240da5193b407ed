/// Repeats a request with a `Dormouse-Position` until the service has read up to it. The service waits at most two
/// seconds for the position and then returns the code `behind`.
///
/// - Parameters:
///   - code: returns the code of an answer with a problem.
///   - ask: sends the request; the service must reach its position.
/// - Returns: the first other answer.
/// - Throws: ``TimedOut``, or an error of `ask`.
public func onceCaughtUp<Answer: Sendable>(
    code: @escaping @Sendable (Answer) -> String?, _ ask: @escaping @Sendable () async throws -> Answer
) async throws -> Answer {
    let found = Signal<Answer>()
    try await eventually(within: 60, describe: "the service has reached the position") {
        let answer = try await ask()
        return code(answer) == "behind" ? false : found.fire(answer)
    }
    return try await found.value()
}
