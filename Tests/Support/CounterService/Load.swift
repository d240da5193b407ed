import Contracts
import EventLog
import Foundation
import Machines
import Runtime
import TestSupport

/// Clients that never give up: they send each command with its idempotency key until it is answered. They pause between
/// commands, because faults and recovery take longer if the clients use both processors.
struct Load<M: Machine>: Sendable where M.Command == Counter.Command {
    let runtime: DurableRuntime<M>
    let clients: Int
    let devices: Int

    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<clients { group.addTask { while !Task.isCancelled { try await send() } } }
            try await group.waitForAll()
        }
    }

    private func send() async throws {
        let id = UUID()
        var command = Submission<M>(
            key: .device("d\(Int.random(in: 0..<devices))"), command: .add(1), origin: .named(id)
        ) { _, _ in [] }
        command.idempotency = Idempotency(key: id.uuidString, fingerprint: [])
        while true {
            try Task.checkCancellation()
            do {
                _ = try await runtime.submit(command)
                say("ack \(id.uuidString)")
                break
            } catch {
                say("error \(error)")
                // Like a client that honours Retry-After.
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        try await Task.sleep(for: .milliseconds(5))
    }
}
