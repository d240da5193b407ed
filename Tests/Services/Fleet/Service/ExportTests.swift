import Contracts
import FleetService
import Records
import Testing
import Timeline

@Suite struct ExportTests {
    /// Devices of users who may export videos.
    private static let devices = (UInt64(1)...400).map { PretendSuite.device(seed: $0) }.filter { device in
        device.has(.continuedProcessingTasks) && device.apps.contains { $0.model.exports }
    }

    @Test func `users export videos on screen, and cancel some`() throws {
        try #require(Self.devices.count >= 10)
        var (exports, cancelled) = (0, 0)
        for device in Self.devices {
            var suite = PretendSuite(device, at: PretendSuite.start)
            suite.run(until: suite.now + .minutes(60))
            #expect(suite.actedWhileStopped == [])
            for (_, action) in suite.told {
                if case .export("com.example.film", let identifier) = action {
                    #expect(identifier.hasPrefix("com.example.film.export."))
                    exports += 1
                }
                if case .cancelExport = action { cancelled += 1 }
            }
        }
        #expect(exports >= 20)
        #expect((1..<exports).contains(cancelled))
    }

    @Test func `most exports report rising progress, and then their end`() throws {
        var (ended, stalled) = (0, 0)
        for device in Self.devices {
            var suite = PretendSuite(device, at: PretendSuite.start)
            let app = "com.example.film"
            suite.states[app] = .active
            suite.give(.callback, app, name: "didBecomeActive")
            suite.give(
                .wake, app,
                data: ["kind": "continuedProcessingTask", "reason": "task", "wake": "w1", "limitSeconds": 60])
            #expect(suite.device.apps.first { $0.model.exports }?.state == .active)
            suite.run(until: suite.now + .seconds(9))
            var (parts, isCompleted): ([Int], Bool) = ([], false)
            for (_, action) in suite.told {
                switch action {
                case .reportProgress(app, "w1", let part, of: _): parts.append(part)
                case .completeWake(app, "w1", let result): isCompleted = result["success"] != nil
                default: break
                }
            }
            #expect(parts == parts.sorted())
            #expect(!isCompleted || !parts.isEmpty)
            if isCompleted { ended += 1 } else { stalled += 1 }
        }
        #expect(ended > 4 * stalled)
    }
}
