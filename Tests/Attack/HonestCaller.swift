import NIOHTTP1
import Records
import Synchronization

/// A caller with a valid credential, who sends one request after the other to a port of the suite over one connection.
///
/// Its requests are commands of daily use: what a crowd at the same port takes from them, it takes from users.
public final class HonestCaller: Sendable {
    /// The port to which it sends.
    public let port: AttackedPort
    private let client: AttackClient
    private let address: String
    /// The path of its device, and the token.
    private let device: String
    private let token: String
    private let provider: ProviderToken
    /// The device tokens that it notifies as a provider in turn.
    private let recipients: [String]
    /// The number of requests that were accepted so far.
    private let turn = Atomic(0)

    /// Registers devices with a launched app.
    ///
    /// - Parameters:
    ///   - number: distinguishes the callers of a port.
    ///   - devices: the number of devices, at least 1.
    init(_ port: AttackedPort, number: Int, devices: Int, _ suite: CrowdedSuite) async throws {
        let client = suite.client()
        let manifest: JSON = [
            "backgroundModes": ["fetch", "remote-notification"], "notificationAuthorization": "authorized",
        ]
        var (paths, tokens, recipients): ([String], [String], [String]) = ([], [], [])
        for index in 1...devices {
            let name = "honest-\(port.rawValue)-\(number)-\(index)"
            let path = "/v1/devices/\(name)"
            let app = "\(path)/apps/\(CrowdedSuite.app)"
            tokens.append(try await suite.register(name, manifest, client))
            paths.append(path)
            try await suite.require(Call(.POST, "\(app)/transitions", ["event": "launch"]), .lifecycle, client)
            guard port == .apns else { continue }
            let registration = Call(.PUT, "\(app)/registration", ["environment": "sandbox"])
            recipients.append(try await suite.require(registration, .push, client).json["token"]?.string ?? "")
        }
        (self.port, self.client, self.address, self.provider) = (port, client, suite.address(port), suite.provider)
        (self.device, self.token, self.recipients) = (paths[0], tokens[0], recipients)
    }

    /// Sends its next request. A request that was not accepted is the next one again.
    ///
    /// - Returns: the status and the beginning of the answer. `lifecycle` answers 409 if an earlier attempt without an
    ///   answer took effect.
    /// - Throws: `HTTPClientError.deadlineExceeded` if there is no answer within `seconds`.
    public func send(within seconds: Int64) async throws -> (status: Int, body: String) {
        let number = turn.load(ordering: .relaxed)
        let answer = try await client.send(call(number), to: address, within: seconds, authorized: false)
        let tookEffect = port == .lifecycle && answer.status == 409
        if answer.isSuccess || tookEffect { turn.store(number + 1, ordering: .relaxed) }
        return (answer.status, answer.excerpt)
    }

    /// Closes its connection.
    public func leave() async { try? await client.shutdown() }

    private func call(_ number: Int) -> Call {
        var call = command(number)
        call.headers.append(("authorization", "Bearer \(port == .apns ? provider.text : token)"))
        return call
    }

    private func command(_ number: Int) -> Call {
        let isEven = number.isMultiple(of: 2)
        let app = "\(device)/apps/\(CrowdedSuite.app)"
        switch port {
        case .lifecycle:
            return Call(.POST, "\(app)/transitions", ["event": .string(isEven ? "home" : "open")])
        case .fetch:
            return Call(.PUT, "\(app)/minimum-interval", ["interval": .int(isEven ? 3600 : 7200)])
        case .push:
            return Call(.PUT, "\(device)/throttle", ["enabled": .bool(!isEven)])
        case .transfer:
            let file = "\(app)/files/film"
            return isEven ? Call(.PUT, file, body: Array("number \(number)".utf8)) : Call(.GET, file)
        case .apns:
            let payload: JSON = ["aps": ["alert": .string("Number \(number)")]]
            return Call(
                .POST, "/3/device/\(recipients[number % recipients.count])", body: payload.bytes,
                headers: [
                    ("apns-topic", CrowdedSuite.app), ("apns-push-type", "alert"), ("apns-priority", "10"),
                ])
        }
    }
}
