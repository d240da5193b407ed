import Contracts
import LifecycleCore
import MachineTesting
import Machines
import OrderedCollections
import RandomScenarios
import Records
import Testing
import Timeline

/// Random scenarios of built-in devices. A failure names its seed.
@Suite(.ownThread) struct BuiltInProperties {
    @Test func `a built-in device answers each order in time and keeps the invariants`() throws {
        var answered = 0
        for seed in (1...30).map({ UInt64($0) * 6007 }) {
            let after = Interval.seconds(Int64(seed % 4) * 3)
            let opens = seed.isMultiple(of: 2) ? NotificationOpening.atOnce : .never
            var life = LifecycleLife(
                seed: seed, builtIn: BuiltInDevice(answers: BuiltInAnswers(after: after), opens: opens))
            for _ in 0..<250 {
                try life.step()
                try life.checkLaws()
                guard life.device.builtIn != nil else { continue }
                for record in life.device.apps.values {
                    let due = record.wakes.values.map(\.answerDue) + record.pendingCallbacks.map(\.answerDue)
                    for answer in due { #expect(try #require(answer) >= life.now, "seed \(seed)") }
                }
            }
            #expect(try life.runtime.foldCheck().isEmpty, "seed \(seed)")
            answered += life.runtime.log.count {
                $0.type == LifecycleEvent.WakeCompleted.type || $0.type == LifecycleEvent.CallbackCompleted.type
            }
        }
        #expect(answered > 50)
    }
}
