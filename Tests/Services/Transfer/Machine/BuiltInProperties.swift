import Contracts
import MachineTesting
import Machines
import RandomScenarios
import Records
import Testing
import Timeline
import TransferCore

/// Random scenarios of built-in devices. A failure names its seed.
@Suite(.ownThread) struct BuiltInProperties {
    @Test func `a built-in device claims each attempt at once and completes it`() throws {
        var completed = 0
        for seed in (1...30).map({ UInt64($0) * 6007 }) {
            var life = TransferLife(seededRandom(seed), builtIn: BuiltInDevice(transfers: BuiltInTransfers()))
            try life.begin()
            for _ in 0..<300 {
                try life.step()
                for (_, session) in life.device.sessions {
                    for task in session.tasks {
                        guard let attempt = task.attempt, let worker = attempt.worker else {
                            #expect(task.attempt == nil, "seed \(seed)")
                            continue
                        }
                        #expect(worker == TransferMachine.builtInWorker, "seed \(seed)")
                    }
                }
            }
            #expect(try life.runtime.foldCheck().isEmpty, "seed \(seed)")
            completed += life.runtime.log.count { $0.type == TransferEvent.TaskCompleted.type }
        }
        #expect(completed > 10)
    }
}
