import AsyncHTTPClient
import Contracts
import Glibc
import NIOCore
import NIOPosix
import NIOSSL

/// The failure of a fetch. It contains no credentials.
struct FetchFailure: Error, Equatable {
    var end: AttemptEnd
    /// For `authenticationRequired`: the challenge for the app; nil if all challenges were rejected.
    var challenge: AuthenticationChallenge?

    init(_ end: AttemptEnd, _ challenge: AuthenticationChallenge? = nil) {
        self.end = end
        self.challenge = challenge
    }

    /// Maps an error of the network to the end of an attempt.
    init(network error: any Error) {
        if let failure = error as? FetchFailure {
            self = failure
        } else {
            end = Self.end(error)
        }
    }

    /// Whether the connection failed before anything was sent.
    static func isOfConnecting(_ error: any Error) -> Bool {
        switch error {
        case let error as HTTPClientError: error == .connectTimeout || error == .tlsHandshakeTimeout
        case ChannelError.connectTimeout, is NIOConnectionError: true
        default: false
        }
    }

    private static func end(_ error: any Error) -> AttemptEnd {
        switch error {
        case let error as HTTPClientError: end(error)
        case let error as NIOConnectionError: end(error)
        case let error as IOError: end(errno: error.errnoCode)
        case ChannelError.connectTimeout: .timedOut
        // The connection was cut, in TLS or in TCP.
        case NIOSSLError.uncleanShutdown: .connectionLost
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError, is PeerCertificate: .secureConnectionFailed
        case StorageError.missing: .fileMissing
        default: .connectionLost
        }
    }

    private static func end(_ error: HTTPClientError) -> AttemptEnd {
        switch error {
        case .connectTimeout, .readTimeout, .writeTimeout, .deadlineExceeded, .tlsHandshakeTimeout: .timedOut
        case .invalidURL, .emptyHost, .emptyScheme: .originNotAllowed
        default: .connectionLost
        }
    }

    /// Maps the error of the last of a host's addresses, which are tried in order.
    private static func end(_ error: NIOConnectionError) -> AttemptEnd {
        guard let last = error.connectionErrors.last?.error else { return .hostNotFound }
        return end(last) == .timedOut ? .timedOut : .cannotConnect
    }

    private static func end(errno number: CInt) -> AttemptEnd {
        switch number {
        case ECONNREFUSED, EHOSTUNREACH, EHOSTDOWN, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL, EACCES, EINVAL:
            .cannotConnect
        case ETIMEDOUT: .timedOut
        default: .connectionLost
        }
    }
}
