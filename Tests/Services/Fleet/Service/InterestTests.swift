import Contracts
import FleetService
import Records
import Scenarios
import Testing
import Timeline

@Suite struct InterestTests {
    /// Returns the actions of some devices on a day.
    private static func actions(_ seeds: ClosedRange<UInt64>) -> [(device: SimulatedDevice, actions: [Action])] {
        seeds.map { seed in
            let device = PretendSuite.device(seed: seed)
            var suite = PretendSuite(device, at: PretendSuite.start)
            suite.run(until: suite.now + .minutes(24))
            return (suite.device, suite.told.map(\.action))
        }
    }

    @Test func `apps wait for all kinds of events that the generation has`() {
        var seen: Set<Interest> = []
        for (device, actions) in Self.actions(1...300) {
            for case .startWaiting(let app, let interest) in actions {
                #expect(device.has(interest.feature), "\(app) \(interest)")
                seen.insert(interest)
            }
        }
        #expect(seen == Set(Interest.allCases))
    }

    @Test func `a user who commutes leaves a place and arrives at the next one`() {
        var (visits, beacons, samples, accessories) = (0, 0, 0, 0)
        for (device, actions) in Self.actions(1...100) {
            var isNear: Bool?
            for case .occur(let occurrence) in actions {
                switch occurrence {
                case .visit:
                    #expect(device.has(.visits))
                    visits += 1
                case .beacon(let isInRange):
                    #expect(isInRange != isNear, "only a change is reported")
                    isNear = isInRange
                    beacons += 1
                case .sample: samples += 1
                case .accessory(let app):
                    #expect(app == "com.example.fitness")
                    accessories += 1
                }
            }
        }
        #expect([visits, beacons, samples, accessories].allSatisfy { $0 > 0 })
    }
}
