public import Contracts

extension TokenKind {
    /// The feature of iOS to which the kind belongs; nil if every generation has it.
    var feature: Feature? {
        switch self {
        case .apns: nil
        case .voip: .voipPushes
        case .complication: .complicationPushes
        case .fileprovider: .fileProviderPushes
        case .location: .locationPushes
        case .liveactivity: .liveActivities
        case .pushToStart: .pushToStart
        case .pushtotalk: .pushToTalk
        case .widgets: .widgetPushes
        case .controls: .controlPushes
        }
    }

    /// Returns whether a token of this kind receives pushes of a type. APNs compares topics, and each type but `mdm` has
    /// its own topic. Our choice: a push of type `mdm` needs the token of its app.
    public func accepts(_ type: PushType) -> Bool {
        switch type {
        case .alert, .background, .mdm: self == .apns
        case .voip: self == .voip
        case .complication: self == .complication
        case .fileprovider: self == .fileprovider
        case .location: self == .location
        case .liveactivity: self == .liveactivity || self == .pushToStart
        case .pushtotalk: self == .pushtotalk
        case .widgets: self == .widgets
        case .controls: self == .controls
        }
    }
}

extension PushType {
    /// The suffix of the topic after the bundle identifier; empty for some types.
    public var topicSuffix: String {
        switch self {
        case .alert, .background, .mdm: ""
        case .voip: ".voip"
        case .pushtotalk: ".voip-ptt"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .location: ".location-query"
        case .liveactivity: ".push-type.liveactivity"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }
}
