import Contracts

// Distances on the ground. Plain arithmetic and no function of the system's mathematics, so that every machine comes to the
// same bits: the log must not depend on where it was decided.

/// A point of the unit sphere.
struct Place: Equatable {
    /// The mean radius of the earth, in metres (IUGG, R₁).
    static let earthRadius = 6_371_008.8

    let x: Double
    let y: Double
    let z: Double

    /// - Parameters: degrees, WGS 84, taken as a sphere: at most 0.6 % off.
    init(latitude: Double, longitude: Double) {
        let (latitude, longitude) = (latitude * .pi / 180, longitude * .pi / 180)
        x = cosine(latitude) * cosine(longitude)
        y = cosine(latitude) * sine(longitude)
        z = sine(latitude)
    }

    init(_ location: Location) { self.init(latitude: location.latitude, longitude: location.longitude) }

    init(_ region: Region) { self.init(latitude: region.latitude, longitude: region.longitude) }

    /// Metres along the ground: exact to a millimetre up to 1,000 km, and too short near the other end of the earth, where it is
    /// far all the same.
    func distance(to other: Place) -> Double {
        let (dx, dy, dz) = (x - other.x, y - other.y, z - other.z)
        let squared = dx * dx + dy * dy + dz * dz
        // Of the chord c the arc 2·asin(c/2), as a series.
        let arc = 1 + squared / 24 * (1 + squared * 9 / 80 * (1 + squared * 25 / 168 * (1 + squared * 49 / 288)))
        return squared.squareRoot() * arc * Self.earthRadius
    }
}

/// Of -π to π, exact to about 1e-11: Taylor's series.
private func sine(_ angle: Double) -> Double {
    let squared = angle * angle
    var sum = 0.0
    for divisor in stride(from: 22.0, through: 2, by: -2) { sum = (1 + sum) * -squared / (divisor * (divisor + 1)) }
    return angle * (1 + sum)
}

private func cosine(_ angle: Double) -> Double {
    let squared = angle * angle
    var sum = 0.0
    for divisor in stride(from: 22.0, through: 2, by: -2) { sum = (1 + sum) * -squared / (divisor * (divisor - 1)) }
    return 1 + sum
}
