import FoundationEssentials
import JWTKit
import NIOHTTP1
import Records
import Scenarios
import Timeline

/// A provider with its own key, which sends pushes to the APNs endpoint.
struct Provider: Sendable {
    let caller: Caller
    let tokens: PushTokens
    private let key = ES256PrivateKey()
    private let keyID: String
    private let teamID: String

    /// A provider token is valid for an hour. A provider may renew it every 20 minutes at most (Apple, "Establishing a
    /// token-based connection to APNs").
    private static let tokenLife = Duration.seconds(40 * 60)

    /// - Parameter random: chooses a team. Each provider has its own team, because a team has at most two keys.
    init(caller: Caller, tokens: PushTokens, _ random: inout SeededRandom) {
        self.caller = caller
        self.tokens = tokens
        let signs = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
        keyID = String((0..<10).map { _ in random.pick(signs) })
        teamID = String((0..<10).map { _ in random.pick(signs) })
    }

    /// Registers the public key at `push`.
    ///
    /// - Returns: whether `push` accepted it.
    func register(key idempotencyKey: String) async throws(CancellationError) -> Bool {
        let document: JSON = [
            "keyID": .string(keyID), "teamID": .string(teamID), "publicKey": .string(key.publicKey.pemRepresentation),
            "environment": "sandbox",
        ]
        let call = Call(.push, "POST", "/v1/provider-keys", [], document)
        return try await caller.perform(call, key: idempotencyKey, asOperator: true) != nil
    }

    /// Sends pushes at a rate until cancellation.
    ///
    /// - Throws: an error of signing, or `CancellationError`.
    func send(aMinute rate: Double, to apns: String, seed: UInt64) async throws {
        var random = SeededRandom(seed: seed ^ 0xbb67_ae85_84ca_a73b)
        let keys = JWTKeyCollection()
        await keys.add(ecdsa: key, kid: JWKIdentifier(string: keyID))
        var signed: (token: String, at: ContinuousClock.Instant)?
        let started = ContinuousClock.now
        var count = 0.0
        while true {
            try await Task.sleep(until: started + .seconds(count * 60 / rate), clock: .continuous)
            count += 1
            guard let target = tokens.pick(&random) else { continue }
            if signed.map({ $0.at + Self.tokenLife < .now }) ?? true {
                let claims = Claims(iss: IssuerClaim(value: teamID), iat: IssuedAtClaim(value: .now))
                signed = (try await keys.sign(claims, kid: JWKIdentifier(string: keyID)), .now)
            }
            let isSilent = random.percent(50)
            if target.isOfChannel {
                try await talk(to: target, apns, bearer: signed?.token ?? "")
            } else {
                try await push(to: target, apns, bearer: signed?.token ?? "", isSilent: isSilent)
            }
        }
    }

    private struct Claims: JWTPayload {
        var iss: IssuerClaim
        var iat: IssuedAtClaim

        func verify(using algorithm: some JWTAlgorithm) async throws {}
    }

    private func push(
        to target: PushToken, _ apns: String, bearer: String, isSilent: Bool
    ) async throws(CancellationError) {
        let headers: HTTPHeaders = [
            "authorization": "bearer " + bearer, "apns-topic": target.topic,
            "apns-push-type": isSilent ? "background" : "alert", "apns-priority": isSilent ? "5" : "10",
        ]
        let alert: JSON = ["title": "Dormouse", "body": "Something is new"]
        let aps: JSON =
            isSilent
            ? ["content-available": 1]
            : ["alert": alert, "category": .string(AppModel.category), "mutable-content": 1, "sound": "default"]
        try await send(["aps": aps], headers, to: target, apns)
    }

    /// Sends the push of a participant who begins to speak.
    private func talk(to target: PushToken, _ apns: String, bearer: String) async throws(CancellationError) {
        let headers: HTTPHeaders = [
            "authorization": "bearer " + bearer, "apns-topic": target.topic, "apns-push-type": "pushtotalk",
            "apns-priority": "10", "apns-expiration": "0",
        ]
        try await send(["aps": [:], "activeSpeaker": "Kim"], headers, to: target, apns)
    }

    private func send(
        _ payload: JSON, _ headers: HTTPHeaders, to target: PushToken, _ apns: String
    ) async throws(CancellationError) {
        note(
            try await caller.client.send(
                "POST", "\(apns)/3/device/\(target.token)", headers, payload.bytes, type: "application/json"))
    }

    private func note(_ reply: Reply) {
        let statistics = caller.statistics
        statistics.note { $0.requests += 1 }
        switch reply {
        case .answered(200, _, _, _): statistics.note { $0.pushes += 1 }
        case .answered(let status, let document, _, _):
            let reason = document["reason"]?.string ?? String(status)
            statistics.note { $0.pushRefusals[reason, default: 0] += 1 }
            // The documented statuses of APNs, without 500, which must not happen.
            if ![400, 403, 404, 405, 410, 413, 429, 503].contains(status) {
                statistics.violation("apns POST /3/device answered \(status) \(reason)")
            }
        case .later(let reason, _):
            statistics.note { $0.pushRefusals[reason.hasPrefix("503") ? "503" : "unreachable", default: 0] += 1 }
        }
    }
}
