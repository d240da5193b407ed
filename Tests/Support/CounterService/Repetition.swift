import Contracts
import EventLog
import Foundation
import Machines
import Runtime
import TestSupport

/// Clients that repeat their idempotency keys: ten are innocent, one command ends the process.
struct Repetition: Sendable {
    let runtime: DurableRuntime<Brittle>

    /// Writes a line for each outcome, and ends after the last one.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<10 { group.addTask { await send(1, "innocent-\(number)") } }
            group.addTask { await send(-1, "guilty") }
            try await group.waitForAll()
        }
        say("over")
    }

    private func send(_ amount: Int, _ name: String) async {
        let origin = Origin.named()
        var command = Submission<Brittle>(key: .device("a"), command: .add(amount), origin: origin) { _, _ in [] }
        command.idempotency = Idempotency(key: name, fingerprint: [])
        do {
            _ = try await runtime.submit(command)
            say("ack \(name)")
        } catch { say("refused \(name): \(error)") }
    }
}
