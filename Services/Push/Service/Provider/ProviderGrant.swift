import Contracts

/// The topics that the token or certificate of a provider allows.
struct ProviderGrant: Sendable, Equatable {
    /// Bundle identifiers or whole topics; empty for all topics of the team.
    var topics: [String] = []
    /// The bundle identifier of the certificate; nil for a token.
    var certificateTopic: String?
}

extension ClientCertificate {
    /// - Throws: `BadCertificate`, or `BadCertificateEnvironment` if the certificate is for the other environment.
    func grant(in environment: PushEnvironment) throws(APNsReason) -> ProviderGrant {
        guard let topic else { throw .badCertificate }
        guard environments.contains(environment) else { throw .badCertificateEnvironment }
        return ProviderGrant(topics: [topic], certificateTopic: topic)
    }
}
