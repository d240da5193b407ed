public import Contracts

/// The bandwidth of a network.
public struct NetworkRate: Sendable, Equatable {
    /// In kbit/s, from the server to the device.
    public var down: Int
    /// In kbit/s, from the device to the server.
    public var up: Int

    /// The profiles of Apple's Network Link Conditioner with these names; `lossy` is its "Very Bad Network". It has no
    /// profile for 5G, so those numbers are our own.
    public init(_ shape: NetworkShape) {
        switch shape {
        case .edge: (down, up) = (240, 200)
        case .thirdGeneration: (down, up) = (780, 330)
        case .lte: (down, up) = (50_000, 10_000)
        case .fifthGeneration: (down, up) = (300_000, 50_000)
        case .wifi: (down, up) = (40_000, 33_000)
        case .lossy: (down, up) = (1000, 1000)
        }
    }

    /// Returns the shape of a connection. A cellular one without a shape is LTE.
    static func shape(of network: Network) -> NetworkShape {
        network.shape ?? (network.kind == .cellular ? .lte : .wifi)
    }
}
