import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import Records

/// A running suite for crowds and for honest callers beside them.
public struct CrowdedSuite: Sendable {
    private static let content = "/content/film"
    /// The longest duration of a request that prepares the suite, in seconds.
    private static let attemptSeconds: Int64 = 60
    /// The time in which such a request must succeed. It is repeated.
    private static let patience = Duration.seconds(90)
    static let app = "com.example.app"

    /// The ports on 127.0.0.1.
    let ports: [AttackedPort: Int]
    private let operatorKey: String
    private let authority: String
    /// The honest provider.
    let provider = ProviderToken()

    /// - Parameters:
    ///   - ports: the ports on 127.0.0.1.
    ///   - operatorKey: a key with all scopes.
    ///   - authority: a PEM file with the authority of the certificate of ``AttackedPort/apns``.
    public init(ports: [AttackedPort: Int], operatorKey: String, authority: String) {
        (self.ports, self.operatorKey, self.authority) = (ports, operatorKey, authority)
    }

    /// Registers the key of the honest provider and the devices of a hostile client, and uploads a large file.
    ///
    /// - Parameters:
    ///   - hostileDevices: the number of devices whose tokens a crowd has, at least 1. A service limits the requests of
    ///     each device.
    ///   - contentBytes: the size of the file.
    public func prepare(hostileDevices: Int, contentBytes: Int) async throws -> HostileCrowd.Targets {
        let client = client()
        try await require(Call(.POST, "/v1/provider-keys", provider.registration), .push, client)
        var devices: [(name: String, token: String)] = []
        for number in 1...hostileDevices {
            let name = "hostile-\(number)"
            devices.append((name, try await register(name, fleet: "hostile", [:], client)))
            // Now `transfer` knows the app.
            try await require(Call(.GET, "/v1/devices/\(name)/apps/\(Self.app)/files"), .transfer, client)
        }
        let film = Call(.PUT, Self.content, body: [UInt8](repeating: 7, count: contentBytes))
        try await require(film, .transfer, client)
        try await client.shutdown()
        return HostileCrowd.Targets(
            ports: ports, devices: devices, app: Self.app, content: Self.content, team: provider.team,
            providerKey: provider.keyID)
    }

    /// Registers honest callers of a port. The key of the provider must be registered.
    ///
    /// - Parameter devicesOfProvider: the number of devices that each provider notifies in turn. `push` limits the
    ///   notifications of each device token.
    public func honestCallers(
        at port: AttackedPort, count: Int, devicesOfProvider: Int = 1
    ) async throws -> [HonestCaller] {
        var callers: [HonestCaller] = []
        for number in 1...count {
            let devices = port == .apns ? devicesOfProvider : 1
            callers.append(try await HonestCaller(port, number: number, devices: devices, self))
        }
        return callers
    }

    /// Returns a client with the operator's key, whose requests have no limits but their own.
    func client() -> AttackClient {
        AttackClient(
            authority: authority, operatorKey: operatorKey,
            timeouts: HTTPClient.Configuration.Timeout(connect: .minutes(1)))
    }

    func address(_ port: AttackedPort) -> String {
        port == .apns ? "https://localhost:\(ports[port] ?? 0)" : "http://127.0.0.1:\(ports[port] ?? 0)"
    }

    /// Registers a device with an app. A service also limits the requests of all devices of a fleet together.
    ///
    /// - Returns: the token of the device.
    func register(
        _ device: String, fleet: String = "honest", _ manifest: JSON, _ client: AttackClient
    ) async throws -> String {
        let path = "/v1/devices/\(device)"
        let registration: JSON = ["profile": "ios18", "fleet": .string(fleet)]
        let registered = try await require(Call(.PUT, path, registration), .lifecycle, client)
        guard let token = registered.json["token"]?.string else {
            throw AttackFailed("the registration of \(device) returned no token")
        }
        try await require(Call(.PUT, "\(path)/apps/\(Self.app)", manifest), .lifecycle, client)
        return token
    }

    /// Sends a request of an operator, which must succeed.
    @discardableResult
    func require(_ call: Call, _ port: AttackedPort, _ client: AttackClient) async throws -> Answer {
        try await client.require(call, to: address(port), within: Self.attemptSeconds, patience: Self.patience)
    }
}
