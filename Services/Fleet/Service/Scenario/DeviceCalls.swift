import Records
import Scenarios
import Timeline

/// Sends the requests of a device in order, with retries. Each request waits for the effects of the one before, in every
/// service.
struct DeviceCalls: Sendable {
    let client: SuiteClient
    let statistics: RunStatistics
    /// The names of the requests of this run.
    let run: String
    private(set) var position: Position?
    private var count = 0
    private let name: String
    private var random: SeededRandom

    /// - Parameter name: of the device.
    init(_ client: SuiteClient, _ statistics: RunStatistics, run: String, name: String, seed: UInt64) {
        self.client = client
        self.statistics = statistics
        self.run = run
        self.name = name
        random = SeededRandom(seed: seed)
    }

    /// Sends a request until it gets a response.
    ///
    /// - Throws: only `CancellationError`.
    mutating func perform(_ call: Call) async throws(CancellationError) -> Outcome {
        count += 1
        let key = call.method == "POST" ? "\(run)-\(name)-\(count)" : nil
        let end = ContinuousClock.now + .milliseconds(Backoff.patience.milliseconds)
        var attempts = 0
        while true {
            statistics.note { $0.requests += 1 }
            switch try await client.attempt(call, idempotencyKey: key, position: position) {
            case .later(let reason, let asked):
                guard ContinuousClock.now < end else {
                    statistics.complain("cannot reach \(call.service.rawValue): \(reason)")
                    return .failed
                }
                statistics.note { $0.retries += 1 }
                let wait = Backoff.wait(attempts: attempts, asked: asked, &random)
                attempts += 1
                do { try await Task.sleep(for: .milliseconds(wait.milliseconds)) } catch { throw CancellationError() }
            case .answered(let status, let document, let position, _):
                if let position { self.position = position }
                return ResponseCheck(client: client, statistics: statistics).outcome(
                    status, document, position, of: call)
            }
        }
    }
}

extension Record {
    /// The record as the body of a request.
    var document: JSON { (try? JSON(parsing: jsonBytes)) ?? .null }
}

extension Outcome {
    /// The response; nil after a refusal or a failure.
    var answer: JSON? {
        if case .done(let document, _) = self { document } else { nil }
    }
}
