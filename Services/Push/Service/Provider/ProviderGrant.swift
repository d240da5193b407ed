import Contracts
import PushCore

/// The topics that the token or certificate of a provider allows.
struct ProviderGrant: Sendable, Equatable {
    /// Bundle identifiers or whole topics; empty for all topics of the team.
    var topics: [String] = []
    /// The bundle identifier of the certificate; nil for a token.
    var certificateTopic: String?
    /// The team of the token, and the owners of topics.
    var team = ""
    var owners = TopicOwners()

    /// The provider in the events of its pushes: its team, or the bundle identifier of its certificate.
    var actor: String { certificateTopic.map { "certificate:" + $0 } ?? "team:" + team }

    /// The provider whose channels of an app the credential may use; nil for all channels of the app, if the app belongs
    /// to the provider.
    func creator(ofChannelsOf app: String) -> String? {
        certificateTopic == app || owners.contain(team, app) ? nil : actor
    }

    /// Returns whether the credential may use a topic of an app.
    func allows(_ topic: String, of app: String) -> Bool {
        guard topics.isEmpty else { return topics.contains(app) || topics.contains(topic) }
        return owners.allow(team, app) && owners.allow(team, topic)
    }
}

/// The teams whose registered keys name a topic. The topic belongs to these teams. All teams may use a topic that no key
/// names.
///
/// At Apple an app belongs to one team. Here an operator registers the keys, and so decides.
struct TopicOwners: Sendable, Equatable {
    private var teams: [String: Set<String>] = [:]

    init(_ keys: [ProviderKey] = []) {
        for key in keys {
            for topic in key.topics {
                teams[topic, default: []].insert(key.teamID)
                if let app = Self.app(of: topic) { teams[app, default: []].insert(key.teamID) }
            }
        }
    }

    /// The bundle identifier in a topic of a push type; nil if it has the suffix of none.
    private static func app(of topic: String) -> String? {
        PushType.allCases.lazy.map(\.topicSuffix).first { !$0.isEmpty && topic.hasSuffix($0) }
            .map { String(topic.dropLast($0.count)) }
    }

    /// Returns whether a team may use a bundle identifier or topic.
    func allow(_ team: String, _ topic: String) -> Bool { teams[topic]?.contains(team) ?? true }

    /// Returns whether a bundle identifier or topic belongs to a team.
    func contain(_ team: String, _ topic: String) -> Bool { teams[topic]?.contains(team) ?? false }
}

extension ClientCertificate {
    /// - Throws: `BadCertificate`, or `BadCertificateEnvironment` if the certificate is for the other environment.
    func grant(in environment: PushEnvironment) throws(APNsReason) -> ProviderGrant {
        guard let topic else { throw .badCertificate }
        guard environments.contains(environment) else { throw .badCertificateEnvironment }
        return ProviderGrant(topics: [topic], certificateTopic: topic)
    }
}
