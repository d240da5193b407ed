import Contracts

/// The bandwidth, delay and loss of a network.
struct LinkProfile: Sendable, Equatable {
    /// In bytes per second.
    var down: Int
    var up: Int
    var downDelay: Duration
    var upDelay: Duration
    /// The share of portions that are lost and sent again, from 0 to 1.
    var loss = 0.0

    /// - Parameters: rates in kbit/s, delays in milliseconds.
    private init(kilobits down: Int, _ up: Int, delays downDelay: Int, _ upDelay: Int, loss: Double = 0) {
        self.down = down * 1000 / 8
        self.up = up * 1000 / 8
        self.downDelay = .milliseconds(downDelay)
        self.upDelay = .milliseconds(upDelay)
        self.loss = loss
    }

    /// The profiles of Apple's Network Link Conditioner with these names; `lossy` is its "Very Bad Network". It has no
    /// profile for 5G, so those numbers are our own.
    init(_ shape: NetworkShape) {
        switch shape {
        case .edge: self.init(kilobits: 240, 200, delays: 400, 440)
        case .thirdGeneration: self.init(kilobits: 780, 330, delays: 100, 100)
        case .lte: self.init(kilobits: 50_000, 10_000, delays: 50, 65)
        case .fifthGeneration: self.init(kilobits: 300_000, 50_000, delays: 20, 20)
        case .wifi: self.init(kilobits: 40_000, 33_000, delays: 1, 1)
        case .lossy: self.init(kilobits: 1000, 1000, delays: 500, 500, loss: 0.1)
        }
    }

    var roundTrip: Duration { downDelay + upDelay }
}
