import Contracts
import Machines

// Calls for features that the generation of the device lacks, and notifications of types that it does not know.
extension Decision<PushMachine> {
    /// The features and limits of the device.
    var profile: Profile { policy.generations[state.profile] }

    /// Throws unless the generation of the device has a feature.
    func require(_ feature: Feature) throws(PushRefusal) {
        guard profile.has(feature) else { throw .unsupported(feature, on: profile) }
    }

    /// Throws if an app subscribes to channels and the generation has none.
    func requireChannels(for channels: [String]?) throws(PushRefusal) {
        if channels?.isEmpty == false { try require(.broadcastChannels) }
    }

    /// Whether the device knows notifications of a type. APNs accepts the others, and the device drops them.
    func knows(_ type: PushType) -> Bool { type.feature.map(profile.has) ?? true }

    /// Whether a notification can wake an app on this generation.
    func canWake(_ manifest: Manifest) -> Bool {
        manifest.backgroundModes.contains { mode in
            switch mode {
            case .remoteNotification: profile.has(.silentNotifications)
            case .newsstandContent: profile.has(.newsstand)
            default: false
            }
        }
    }
}

extension PushType {
    /// The feature of iOS to which the type belongs; nil if every generation knows it.
    var feature: Feature? {
        switch self {
        case .alert, .background, .mdm: nil
        case .complication: .complicationPushes
        case .controls: .controlPushes
        case .fileprovider: .fileProviderPushes
        case .liveactivity: .liveActivities
        case .location: .locationPushes
        case .pushtotalk: .pushToTalk
        case .voip: .voipPushes
        case .widgets: .widgetPushes
        }
    }
}
