import AsyncHTTPClient
import Contracts
import Glibc
import NIOCore
import NIOPosix
import NIOSSL

/// Why a fetch could not go on. What it says of credentials is nothing.
struct FetchFailure: Error, Equatable {
    var end: AttemptEnd
    /// Of `authenticationRequired`: what only the app can answer; nil where everything that was asked for is refused already.
    var challenge: AuthenticationChallenge?

    init(_ end: AttemptEnd, _ challenge: AuthenticationChallenge? = nil) {
        self.end = end
        self.challenge = challenge
    }

    /// What an error of the network means on the platform.
    init(network error: any Error) {
        if let failure = error as? FetchFailure {
            self = failure
        } else {
            end = Self.end(error)
        }
    }

    /// Whether a connection was waited for in vain: nothing was sent.
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
        // The connection was cut, within TLS or beneath it.
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

    /// A host has several addresses, which are tried in turn.
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
