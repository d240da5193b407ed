import Attack
import NIOCore
import NIOHTTP1
import Records

/// A provider of pushes, with its own key, over HTTP/1.1.
struct Provider: Sendable {
    /// The bundle identifier of the app of most notifications.
    static let app = "com.example.news"

    private let suite: RunningSuite
    let token: String

    /// Registers the key, and signs one token for all notifications.
    init(_ suite: RunningSuite) async throws {
        self.suite = suite
        let signer = ProviderToken()
        try await suite.call(.POST, .push, "/v1/provider-keys", signer.registration)
        token = signer.text
    }

    /// Sends a notification.
    ///
    /// - Parameter device: the device token.
    /// - Returns: its `apns-id` and `apns-unique-id`.
    func notify(
        _ device: String, _ payload: JSON, silent: Bool, topic: String = Provider.app
    ) async throws -> (id: String, unique: String) {
        let answer = try await suite.send(
            .POST, .push, "/3/device/\(device)", payload,
            headers: [
                "authorization": "bearer \(token)", "apns-topic": topic,
                "apns-push-type": silent ? "background" : "alert", "apns-priority": silent ? "5" : "10",
            ])
        guard answer.status == 200, let id = answer.headers.first(name: "apns-id"),
            let unique = answer.headers.first(name: "apns-unique-id")
        else { throw Unexpected("a push: \(answer.status) \(String(buffer: answer.body))") }
        return (id.lowercased(), unique)
    }
}
