import Contracts
import Foundation
import Testing
import Timeline

@testable import LifecycleCore

@Suite struct PlaceTests {
    /// Returns the haversine distance, with the mathematical functions of the system.
    private func expected(_ from: (Double, Double), _ to: (Double, Double)) -> Double {
        let radians = Double.pi / 180
        let (dy, dx) = ((to.0 - from.0) * radians / 2, (to.1 - from.1) * radians / 2)
        let chord = sin(dy) * sin(dy) + cos(from.0 * radians) * cos(to.0 * radians) * sin(dx) * sin(dx)
        return 2 * asin(chord.squareRoot()) * Place.earthRadius
    }

    @Test(arguments: [
        ((48.85, 2.35), (48.85, 2.35)), ((48.85, 2.35), (48.8501, 2.3501)), ((48.85, 2.35), (51.5, -0.12)),
        ((0, 179.999), (0, -179.999)), ((89.9, 0), (89.9, 180)), ((-33.87, 151.21), (-37.81, 144.96)),
        ((-90, -180), (-81.1, 17)),
    ])
    func `distances are those of a sphere`(_ from: (Double, Double), _ to: (Double, Double)) {
        let distance = Place(latitude: from.0, longitude: from.1).distance(to: Place(latitude: to.0, longitude: to.1))
        #expect(abs(distance - expected(from, to)) < 0.02)
    }

    @Test func `the antipode is far`() {
        #expect(Place(latitude: 0, longitude: 0).distance(to: Place(latitude: 0, longitude: 180)) > 15_000_000)
    }

    @Test func `the energy is power multiplied by time`() {
        var ledger = EnergyLedger()
        ledger.meteredAt = .epoch
        ledger.monitoringMilliwatts = 20
        #expect(ledger.metered(at: .epoch + .seconds(60.0)).monitoring == 1200)
        #expect(ledger.metered(at: .epoch).monitoring == 0)
    }
}
