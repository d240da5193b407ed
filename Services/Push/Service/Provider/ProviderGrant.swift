import Contracts

/// What a provider may send, by its token or its certificate.
struct ProviderGrant: Sendable, Equatable {
    /// Bundle identifiers or whole topics; empty for all of the team's.
    var topics: [String] = []
    /// The bundle identifier of a certificate; nil where a token was shown.
    var certificateTopic: String?
}

extension ClientCertificate {
    /// - Throws: `BadCertificate`, or `BadCertificateEnvironment` where it is for the other one.
    func grant(in environment: PushEnvironment) throws(APNsReason) -> ProviderGrant {
        guard let topic else { throw .badCertificate }
        guard environments.contains(environment) else { throw .badCertificateEnvironment }
        return ProviderGrant(topics: [topic], certificateTopic: topic)
    }
}
