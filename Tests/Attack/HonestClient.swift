import Foundation
import TestSupport

/// Sends commands as the contract asks of a client. If the outcome is unknown or temporary, it repeats the command with
/// the same `Idempotency-Key`, at any replica. It ends with a final answer, or gives up.
struct HonestClient: Sendable {
    /// The longest duration of one attempt.
    static let attemptSeconds: Int64 = 6
    /// The time after which the client gives up.
    static let patience = Duration.seconds(75)

    let suite: AttackedSuite
    let client: AttackClient
    let ledger: Ledger

    /// The outcome of one attempt.
    enum Attempt {
        case final(Answer)
        /// It took no effect.
        case notNow(String)
        /// It may have taken effect.
        case open(String)
    }

    /// Carries out a command.
    ///
    /// - Parameters:
    ///   - isRepeatable: whether the command may be sent again after an attempt whose effect is unknown.
    ///   - send: makes an attempt, with the number of the command.
    /// - Returns: the final answer; nil if there is none.
    @discardableResult
    func perform(
        _ record: CommandRecord, isRepeatable: Bool = true, random: inout SplitMix64,
        send: (_ replica: Replica, _ number: Int) async throws -> Attempt
    ) async -> (answer: Answer?, outcome: Outcome) {
        let number = ledger.open(record)
        let begin = ContinuousClock.now
        let deadline = begin + Self.patience
        let replicas = suite.replicas(of: record.kind.service)
        var pause = Duration.milliseconds(100)
        while true {
            let replica = replicas[Int.random(in: 0..<replicas.count, using: &random)]
            let attempt: Attempt
            do { attempt = try await send(replica, number) } catch { attempt = .open("\(type(of: error))") }
            let reason: String
            switch attempt {
            case .final(let answer):
                let outcome = answer.isSuccess ? Outcome.acknowledged : .refused
                ledger.update(number) { record in
                    record.attempts += 1
                    record.outcome = outcome
                    record.position = answer.isSuccess ? answer.position : nil
                    record.code = answer.isSuccess ? nil : answer.code ?? answer.reason ?? "\(answer.status)"
                    record.seconds = Float(begin.duration(to: .now) / .seconds(1))
                }
                return (answer, outcome)
            case .notNow(let text):
                ledger.update(number) { $0.attempts += 1 }
                reason = text
            case .open(let text):
                ledger.update(number) { record in
                    record.attempts += 1
                    record.openAttempts += 1
                }
                reason = text
            }
            let isOpen = if case .open = attempt { true } else { false }
            guard ContinuousClock.now < deadline, !Task.isCancelled, isRepeatable || !isOpen else {
                ledger.update(number) { record in
                    record.outcome = .unknown
                    record.code = reason
                }
                return (nil, .unknown)
            }
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(1))
        }
    }

    /// One attempt of a command over REST.
    func attempt(_ call: Call, at replica: Replica, _ number: Int) async throws -> Attempt {
        var call = call
        call.headers.append(("traceparent", ledger.traceparent(number)))
        call.headers.append(("Idempotency-Key", "attack-\(number)"))
        return Self.judge(try await client.send(call, to: replica.address, within: Self.attemptSeconds))
    }

    /// Distinguishes the kinds of 503: `outcome_unknown` or a stopping service may have executed the command.
    static func judge(_ answer: Answer) -> Attempt {
        let code = answer.code ?? answer.reason ?? ""
        switch answer.status {
        case 429: return .notNow("429 \(code)")
        case 503 where ["outcome_unknown", "stopping", "ServiceUnavailable", "Shutdown"].contains(code):
            return .open("503 \(code)")
        case 503 where !code.isEmpty: return .notNow("503 \(code)")
        case 500...: return .open("\(answer.status) \(code)")
        default: return .final(answer)
        }
    }
}
