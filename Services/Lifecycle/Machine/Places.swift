import Contracts

// Distances on the ground. They use plain arithmetic, not the mathematical library of the system. So every computer
// gets the same bits, and the log does not depend on the computer.

/// A point of the unit sphere.
struct Place: Equatable {
    /// The mean radius of the earth, in metres (IUGG, R₁).
    static let earthRadius = 6_371_008.8

    let x: Double
    let y: Double
    let z: Double

    /// - Parameters: degrees in WGS 84. The model is a sphere, with an error of at most 0.6 %.
    init(latitude: Double, longitude: Double) {
        let (latitude, longitude) = (latitude * .pi / 180, longitude * .pi / 180)
        x = cosine(latitude) * cosine(longitude)
        y = cosine(latitude) * sine(longitude)
        z = sine(latitude)
    }

    init(_ location: Location) { self.init(latitude: location.latitude, longitude: location.longitude) }

    init(_ region: Region) { self.init(latitude: region.latitude, longitude: region.longitude) }

    /// Returns metres along the ground, exact to a millimetre up to 1,000 km. Near the antipodes the result is too
    /// short, but still far.
    func distance(to other: Place) -> Double {
        let (dx, dy, dz) = (x - other.x, y - other.y, z - other.z)
        let squared = dx * dx + dy * dy + dz * dz
        // The arc 2·asin(c/2) of the chord c, as a series.
        let arc = 1 + squared / 24 * (1 + squared * 9 / 80 * (1 + squared * 25 / 168 * (1 + squared * 49 / 288)))
        return squared.squareRoot() * arc * Self.earthRadius
    }
}

/// Returns the sine of an angle from -π to π, exact to about 1e-11, by Taylor's series.
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
