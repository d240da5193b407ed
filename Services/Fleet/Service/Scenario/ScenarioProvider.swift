import Contracts
import FoundationEssentials
import JWTKit
import NIOHTTP1
import Records
import Scenarios
import Timeline

/// The provider of a scenario, which sends pushes to the APNs endpoint with its own key.
actor ScenarioProvider {
    private let client: SuiteClient
    private let statistics: RunStatistics
    private let apns: String
    private let payloads: [JSON]
    private let sends: [Send]
    private let signer = ProviderSigner()

    /// The most attempts of a push that the endpoint does not answer.
    private static let attempts = 4

    init(_ client: SuiteClient, _ statistics: RunStatistics, apns: String, sends: [Send]) {
        self.client = client
        self.statistics = statistics
        self.apns = apns
        self.sends = sends
        payloads = sends.map(\.document)
    }

    /// Registers the public key at `push`.
    ///
    /// - Throws: ``FleetError`` if `push` refuses it, or `CancellationError`.
    func register(_ caller: Caller, key idempotencyKey: String) async throws {
        let call = Call(.push, "POST", "/v1/provider-keys", [], signer.document)
        guard try await caller.perform(call, key: idempotencyKey, asOperator: true) != nil else {
            throw FleetError("push refuses the key of the provider: the operator key needs the scope operate")
        }
    }

    /// Sends a push. A push without an answer is sent again with the same `apns-id`, a few times.
    ///
    /// - Parameters:
    ///   - topic: the bundle identifier.
    ///   - expiration: the time from now to `apns-expiration`; nil without the header.
    func send(
        _ send: Send, topic: String, to token: String, expiresIn expiration: Interval?
    ) async throws(CancellationError) -> RecordedPush.Fate {
        var headers: HTTPHeaders = [
            "apns-topic": topic + send.send.topicSuffix, "apns-push-type": send.pushType.rawValue,
            "apns-priority": String(send.effectivePriority), "apns-id": UUID.random().lowercased,
        ]
        if let expiration {
            let time = RealClock().now + expiration
            headers.add(name: "apns-expiration", value: expiration == .zero ? "0" : String(time.milliseconds / 1000))
        }
        if let collapse = send.collapseID { headers.add(name: "apns-collapse-id", value: collapse) }
        let payload = sends.firstIndex(of: send).map { payloads[$0] } ?? send.document
        var reason = "unreachable"
        for attempt in 0..<Self.attempts {
            if attempt > 0 {
                do { try await Task.sleep(for: .milliseconds(250 << attempt)) } catch { throw CancellationError() }
            }
            statistics.note { $0.requests += 1 }
            headers.replaceOrAdd(name: "authorization", value: "bearer " + (await signer.token()))
            let response = try await client.exchange(
                "POST", "\(apns)/3/device/\(token)", headers, payload.bytes, type: "application/json")
            guard let response else { continue }
            if response.status == 200 {
                statistics.note { $0.pushes += 1 }
                return .accepted(notification: response.headers.first(name: "apns-unique-id") ?? "")
            }
            reason = response.document["reason"]?.string ?? String(response.status)
            guard response.status == 429 || response.status == 503 else { break }
        }
        let refused = reason
        statistics.note { $0.pushRefusals[refused, default: 0] += 1 }
        return .refused(reason)
    }
}

/// The key of a provider, and its current provider token.
actor ProviderSigner {
    private let key = ES256PrivateKey()
    private let keyID = ProviderSigner.name()
    private let teamID = ProviderSigner.name()
    private let keys = JWTKeyCollection()
    private var signed: (token: Task<String, Never>, at: ContinuousClock.Instant)?

    /// A provider token is valid for an hour. A provider may renew it every 20 minutes at most (Apple, "Establishing a
    /// token-based connection to APNs").
    private static let life = Duration.seconds(40 * 60)

    /// The registration of the public key.
    nonisolated var document: JSON {
        [
            "keyID": .string(keyID), "teamID": .string(teamID), "publicKey": .string(key.publicKey.pemRepresentation),
            "environment": "sandbox",
        ]
    }

    /// Returns a valid provider token.
    func token() async -> String {
        if let signed, signed.at + Self.life > .now { return await signed.token.value }
        // All pushes that are sent while the token is signed wait for this task. With several tokens the endpoint would
        // answer TooManyProviderTokenUpdates.
        let token = Task { await sign() }
        signed = (token, .now)
        return await token.value
    }

    private func sign() async -> String {
        await keys.add(ecdsa: key, kid: JWKIdentifier(string: keyID))
        let claims = Claims(iss: IssuerClaim(value: teamID), iat: IssuedAtClaim(value: .now))
        // Signing with a new key of this process fails only if the process is out of memory.
        return (try? await keys.sign(claims, kid: JWKIdentifier(string: keyID))) ?? ""
    }

    private struct Claims: JWTPayload {
        var iss: IssuerClaim
        var iat: IssuedAtClaim

        func verify(using algorithm: some JWTAlgorithm) async throws {}
    }

    private static func name() -> String {
        let signs = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
        return String((0..<10).map { _ in signs.randomElement() ?? "A" })
    }
}

extension Send.Content {
    /// The suffix of the topic (Apple, "Sending notification requests to APNs").
    fileprivate var topicSuffix: String {
        switch self {
        case .alert, .alertWithContent, .silent: ""
        case .pushToTalk: ".voip-ptt"
        case .voip: ".voip"
        }
    }
}
