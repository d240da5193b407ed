import Records
import Timeline

/// Calls that must come to an end before anything goes on: tried again until they are answered.
struct Caller: Sendable {
    let client: SuiteClient
    let ledger: Ledger
    let seed: UInt64

    /// Makes a call until it is answered.
    ///
    /// - Parameters:
    ///   - patience: seconds after which it is given up.
    ///   - isLearning: whether `404` may only mean that the service has not yet heard of the device from the log.
    /// - Returns: what was answered; nil where it was refused or given up, which is counted.
    func perform(
        _ call: Call, key: String? = nil, after position: Position? = nil, asOperator: Bool = false,
        patience: Duration = .seconds(120), isLearning: Bool = false
    ) async throws(CancellationError) -> (document: JSON, position: Position?)? {
        let judge = Judge(client: client, ledger: ledger)
        let end = ContinuousClock.now + patience
        var chance = Chance(seed: seed)
        var attempts = 0
        while true {
            var asked: Double?
            ledger.note { $0.requests += 1 }
            switch try await client.attempt(call, idempotencyKey: key, position: position, asOperator: asOperator) {
            case .later(let reason, let after):
                asked = after
                guard ContinuousClock.now < end else {
                    ledger.note { $0.errors += 1 }
                    ledger.complain("\(call.service.rawValue) can't be reached: \(reason)")
                    return nil
                }
            case .answered(404, _, _, _)
            where isLearning && attempts < 8 && client.documentation.offers(call):
                break
            case .answered(let status, let document, let position, _):
                guard case .done = judge.outcome(status, document, position, of: call) else { return nil }
                return (document, position)
            }
            ledger.note { $0.retries += 1 }
            let wait = Backoff.wait(attempts: attempts, asked: asked, &chance)
            attempts += 1
            do { try await Task.sleep(for: .milliseconds(wait.milliseconds)) } catch { throw CancellationError() }
        }
    }
}
