import Contracts
import MachineTesting
import Machines
import OrderedCollections
import PushCore
import RandomScenarios
import Records
import Testing
import Timeline

/// Random scenarios of built-in devices. A failure names its seed.
@Suite(.ownThread) struct BuiltInProperties {
    @Test func `the connection of a built-in device leaves no notification without an acknowledgement`() throws {
        var acknowledged = 0
        for seed in (1...30).map({ UInt64($0) * 6007 }) {
            let opens = seed.isMultiple(of: 2) ? NotificationOpening.atOnce : .never
            let device = BuiltInDevice(answers: BuiltInAnswers(after: .seconds(3)), opens: opens)
            var life = try PushLife(seededRandom(seed), builtIn: device)
            for _ in 0..<300 {
                try life.step()
                guard life.device.connection?.kind == .builtIn else { continue }
                for message in life.device.messages.values where message.stage == .inFlight {
                    #expect(message.serviceExtension == .running, "seed \(seed)")
                }
                #expect(opens == .never || life.device.shown.isEmpty, "seed \(seed)")
            }
            #expect(try life.runtime.foldCheck().isEmpty, "seed \(seed)")
            acknowledged += life.runtime.log.count { $0.type == PushEvent.NotificationAcknowledged.type }
        }
        #expect(acknowledged > 200)
    }
}
