import Records
import Scenarios
import Timeline

/// Sends requests with retries, for callers that need the response before they continue.
struct Caller: Sendable {
    let client: SuiteClient
    let statistics: RunStatistics
    let seed: UInt64

    /// Sends a request until it gets a response.
    ///
    /// - Parameters:
    ///   - patience: the timeout over all retries.
    ///   - isLearning: whether to retry `404`, because the service may not have read the device from the log yet.
    /// - Returns: the response; nil if the request was refused or timed out, which is counted.
    func perform(
        _ call: Call, key: String? = nil, after position: Position? = nil, asOperator: Bool = false,
        patience: Duration = .seconds(120), isLearning: Bool = false
    ) async throws(CancellationError) -> (document: JSON, position: Position?)? {
        let check = ResponseCheck(client: client, statistics: statistics)
        let end = ContinuousClock.now + patience
        var random = SeededRandom(seed: seed)
        var attempts = 0
        while true {
            var asked: Double?
            statistics.note { $0.requests += 1 }
            switch try await client.attempt(call, idempotencyKey: key, position: position, asOperator: asOperator) {
            case .later(let reason, let after):
                asked = after
                guard ContinuousClock.now < end else {
                    statistics.note { $0.errors += 1 }
                    statistics.complain("cannot reach \(call.service.rawValue): \(reason)")
                    return nil
                }
            case .answered(404, _, _, _)
            where isLearning && attempts < 8 && client.documentation.offers(call):
                break
            case .answered(let status, let document, let position, _):
                guard case .done = check.outcome(status, document, position, of: call) else { return nil }
                return (document, position)
            }
            statistics.note { $0.retries += 1 }
            let wait = Backoff.wait(attempts: attempts, asked: asked, &random)
            attempts += 1
            do { try await Task.sleep(for: .milliseconds(wait.milliseconds)) } catch { throw CancellationError() }
        }
    }
}
