import Contracts
import FleetService
import Records
import Testing
import Timeline

@Suite("Push to Talk and uploads of a fleet") struct TalkTests {
    private static let devices = (UInt64(1)...200).map { PretendSuite.device(seed: $0) }

    @Test func `an app joins its channel, answers each push, and joins again after it has left`() throws {
        var results: Set<String> = []
        var joins = 0
        for device in Self.devices where device.apps.contains(where: \.model.talks) {
            var suite = PretendSuite(device, at: PretendSuite.start)
            let app = "com.example.chat"
            suite.run(until: suite.now + .minutes(10))
            let joined = suite.told.count { $0.action == .joinChannel(app: app) }
            #expect(device.has(.pushToTalk) ? joined <= 1 : joined == 0)
            joins += joined
            guard joined == 1 else { continue }
            for wake in 1...8 {
                suite.give(
                    .wake, app,
                    data: [
                        "kind": "pushToTalk", "reason": "push", "wake": .string("w\(wake)"), "limitSeconds": 30,
                    ])
                suite.run(until: suite.now + .seconds(10))
            }
            for (_, action) in suite.told {
                guard case .completeWake(app, _, let result) = action else { continue }
                results.insert(try #require(result["pushResult"]?.string))
                #expect(result["result"] == nil)
            }
            #expect(suite.actedWhileStopped == [])
        }
        #expect(joins >= 10)
        #expect(results == ["activeRemoteParticipant", "leaveChannel"])
    }

    @Test func `users pause uploads where they can continue`() {
        var (uploads, continued) = (0, 0)
        for device in Self.devices where device.apps.contains(where: \.model.uploads) {
            var suite = PretendSuite(device, at: PretendSuite.start)
            suite.run(until: suite.now + .minutes(30))
            let app = "com.example.photos"
            let actions = suite.told.map(\.action)
            let own = actions.count { $0 == .upload(app: app) }
            #expect(own <= 3 && own == actions.count { $0 == .storeFile(app: app) })
            #expect(own == 0 || device.has(.backgroundSessions))
            let rests = actions.count { $0 == .continueUpload(app: app, resumeData: "rest") }
            #expect(rests == 0 || device.has(.resumableUploads))
            uploads += own
            continued += rests
        }
        #expect(uploads >= 20)
        #expect(continued >= 3)
    }
}
