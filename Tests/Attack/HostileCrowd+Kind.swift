/// A port of the suite that a crowd attacks, and that honest callers use beside it.
public enum AttackedPort: String, CaseIterable, Sendable {
    case lifecycle, fetch, push, transfer
    /// The provider endpoint of `push`: HTTP/2 over TLS.
    case apns

    /// The name of the service that listens on it.
    public var service: String { self == .apns ? AttackedPort.push.rawValue : rawValue }
}

extension HostileCrowd {
    /// The thing that all connections of a crowd do.
    public enum Kind: String, CaseIterable, Sendable {
        /// Requests with a token that nobody issued.
        case garbageTokens = "garbage tokens"
        /// Requests with tokens of the right form: with a wrong signature, or of a key that does not exist.
        case forgedTokens = "forged tokens"
        /// JSON bodies that arrive one byte a second, with the tokens of the hostile client's devices.
        case drippedBodies = "dripped bodies"
        /// Files of an app and uploads that arrive one byte a second, with the same tokens.
        case drippedUploads = "dripped uploads"
        /// Long polls with the same tokens.
        case longPolls = "long polls"
        /// Connections to the TLS port that send nothing.
        case silentTLS = "silent TLS"
        /// HTTP/2 requests without a provider's token.
        case refusedHTTP2 = "refused HTTP/2 requests"
        /// HTTP/2 requests with providers' tokens of the right form, as `forgedTokens`. They name the team of an honest
        /// provider.
        case forgedProviderTokens = "forged provider tokens"
        /// Requests for the digest of a large file.
        case wantedDigests = "digests of a large file"

        /// The port to which the crowd connects.
        public var target: AttackedPort {
            switch self {
            case .garbageTokens, .drippedBodies: .lifecycle
            case .forgedTokens: .fetch
            case .longPolls: .push
            case .silentTLS, .refusedHTTP2, .forgedProviderTokens: .apns
            case .drippedUploads, .wantedDigests: .transfer
            }
        }
    }

    /// The ports of the suite on 127.0.0.1, and what a hostile client knows.
    public struct Targets: Sendable {
        let ports: [AttackedPort: Int]
        /// The devices of the hostile client, at least one, each with its valid token.
        let devices: [(name: String, token: String)]
        /// The app of each of these devices.
        let app: String
        /// The path of a large file of `transfer`.
        let content: String
        /// The team and the id of a registered key of a provider.
        let team: String
        let providerKey: String
    }
}
