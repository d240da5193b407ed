import Contracts
import TransferCore

/// The bandwidth, delay and loss of a network.
struct LinkProfile: Sendable, Equatable {
    /// In bytes per second.
    var down: Int
    var up: Int
    var downDelay: Duration
    var upDelay: Duration
    /// The share of portions that are lost and sent again, from 0 to 1.
    var loss = 0.0

    /// - Parameters: delays in milliseconds.
    private init(_ rate: NetworkRate, delays downDelay: Int, _ upDelay: Int, loss: Double = 0) {
        down = rate.down * 1000 / 8
        up = rate.up * 1000 / 8
        self.downDelay = .milliseconds(downDelay)
        self.upDelay = .milliseconds(upDelay)
        self.loss = loss
    }

    /// The delays of the profiles whose bandwidths ``NetworkRate`` has.
    init(_ shape: NetworkShape) {
        let rate = NetworkRate(shape)
        switch shape {
        case .edge: self.init(rate, delays: 400, 440)
        case .thirdGeneration: self.init(rate, delays: 100, 100)
        case .lte: self.init(rate, delays: 50, 65)
        case .fifthGeneration: self.init(rate, delays: 20, 20)
        case .wifi: self.init(rate, delays: 1, 1)
        case .lossy: self.init(rate, delays: 500, 500, loss: 0.1)
        }
    }

    var roundTrip: Duration { downDelay + upDelay }
}
