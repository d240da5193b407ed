import NIOHTTP1
import Foundation
import Records
import Synchronization

/// A device token of an app, for the provider.
public struct ScenarioToken: Sendable, Equatable {
    public let device: String
    public let app: String
    /// `apns`, `voip` or another kind of token.
    public let kind: String
    public let token: String

    var document: JSON {
        ["app": .string(app), "device": .string(device), "kind": .string(kind), "token": .string(token)]
    }
}

/// The device tokens of a run. Another system that sends the pushes gets them as lines of a file, or by a webhook.
final class TokenList: Sendable {
    private struct Pending {
        var file: FileHandle?
        var forWebhook: [ScenarioToken] = []
        var count = 0
    }

    /// The URL that gets the tokens; nil without one.
    let webhook: String?
    private let state: Mutex<Pending>

    /// The most tokens in a request to the webhook.
    private static let batch = 500

    /// - Throws: ``FleetError`` if the file cannot be written.
    init(file: String?, webhook: String?) throws(FleetError) {
        self.webhook = webhook
        var pending = Pending()
        if let file {
            guard FileManager.default.createFile(atPath: file, contents: nil),
                let handle = FileHandle(forWritingAtPath: file)
            else { throw FleetError("cannot write the tokens to \(file)") }
            pending.file = handle
        }
        state = Mutex(pending)
    }

    /// The number of tokens so far.
    var count: Int { state.withLock(\.count) }

    /// Adds a token, and writes its line.
    func add(_ token: ScenarioToken) {
        state.withLock { state in
            state.count += 1
            state.file?.write(Data(token.document.bytes + [0x0A]))
            if webhook != nil { state.forWebhook.append(token) }
        }
    }

    /// Posts the new tokens to the webhook: `{"tokens":[{"app":…,"device":…,"kind":…,"token":…}]}`.
    ///
    /// The tokens of a failed request are sent again with the next ones.
    func post(_ client: SuiteClient, _ statistics: RunStatistics) async throws(CancellationError) {
        guard let webhook else { return }
        while true {
            let tokens = state.withLock { Array($0.forWebhook.prefix(Self.batch)) }
            guard !tokens.isEmpty else { return }
            let body: JSON = ["tokens": .array(tokens.map(\.document))]
            let response = try await client.exchange("POST", webhook, [:], body.bytes, type: "application/json")
            guard let response, (200...299).contains(response.status) else {
                statistics.complain("the webhook did not accept tokens: \(response?.status.description ?? "no answer")")
                return
            }
            state.withLock { $0.forWebhook.removeFirst(tokens.count) }
        }
    }
}
