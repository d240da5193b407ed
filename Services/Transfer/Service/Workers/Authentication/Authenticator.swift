import Contracts
import NIOHTTP1
import TransferCore

/// Answers the authentication challenges of one fetch (RFC 9110 section 11).
struct Authenticator {
    /// The answer to a challenge, for its origin only.
    private struct Answer {
        var origin: WebOrigin
        var space: AuthenticationChallenge
        var credential: Credential
        var scheme: AuthenticationScheme
        /// The number of consecutive answers that only asked for a new nonce.
        var renewals = 0
    }

    private static let renewalLimit = 2
    private static let roundLimit = 20

    private let decide: ChallengeDecider
    private var answer: Answer?
    private var rounds = 0

    init(_ decide: @escaping ChallengeDecider) { self.decide = decide }

    /// Drops the answer at a redirect to another origin. A redirect back does not restore it.
    mutating func forget() { answer = nil }

    /// Returns the authorization header for the next request.
    mutating func authorization(_ method: HTTPMethod, _ destination: Destination) -> (name: String, value: String)? {
        guard answer?.origin == destination.origin, let value = answer?.scheme.authorization(method, destination.target)
        else {
            return nil
        }
        return (answer?.space.isProxy == true ? "Proxy-Authorization" : "Authorization", value)
    }

    /// Whether to repeat the request with an answer to this response's challenges.
    ///
    /// - Returns: false if the response is the result.
    /// - Throws: ``FetchFailure`` if the app must answer, or has rejected all offers.
    mutating func answers(_ status: Int, _ headers: HTTPHeaders, from origin: WebOrigin) async throws -> Bool {
        guard status == 401 || status == 407 else { return false }
        let offers = AuthenticationOffer.all(in: headers, isProxy: status == 407)
        guard !offers.isEmpty else { return false }
        rounds += 1
        guard rounds <= Self.roundLimit else { throw FetchFailure(.authenticationRequired) }
        let refused = answer
        answer = nil
        var asked: [AuthenticationChallenge] = []
        for offer in offers {
            var challenge = offer.challenge(of: origin)
            if asked.contains(where: { $0.isOfSameSpace(as: challenge) }) { continue }
            asked.append(challenge)
            var known: Credential?
            if var refused, refused.origin == origin, refused.space.isOfSameSpace(as: challenge) {
                if refused.renewals < Self.renewalLimit, refused.scheme.renew(offer) {
                    refused.renewals += 1
                    answer = refused
                    return true
                }
                challenge.previousFailureCount = refused.space.previousFailureCount + 1
                known = refused.credential
            }
            switch try await decide(challenge) {
            case .use(let credential):
                // The server has refused this credential before.
                guard credential != known, let scheme = offer.scheme(with: credential) else {
                    throw FetchFailure(.authenticationRequired, challenge)
                }
                answer = Answer(origin: origin, space: challenge, credential: credential, scheme: scheme)
                return true
            case .acceptAnswer: return false
            case .reject: continue
            case .ask: throw FetchFailure(.authenticationRequired, challenge)
            }
        }
        throw FetchFailure(.authenticationRequired)
    }
}
