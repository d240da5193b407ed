public import Contracts
public import Records

extension Send {
    /// `apns-priority`.
    public var effectivePriority: Int { priority ?? (send == .silent ? 5 : 10) }

    /// `apns-push-type`.
    public var pushType: PushType {
        switch send {
        case .alert, .alertWithContent: .alert
        case .pushToTalk: .pushtotalk
        case .silent: .background
        case .voip: .voip
        }
    }

    /// The whole payload: `aps` by the content, and the members of ``payload``.
    public var document: JSON {
        let alert: JSON.Member = .init("alert", ["title": "Dormouse", "body": .string("Sent at \(at)")])
        let available: JSON.Member = .init("content-available", 1)
        let aps: [JSON.Member] =
            switch send {
            case .alert: [alert, .init("sound", "default")]
            case .silent: [available]
            case .alertWithContent: [alert, .init("sound", "default"), available]
            case .pushToTalk: []
            case .voip: []
            }
        let mutable: [JSON.Member] = mutableContent ? [.init("mutable-content", 1)] : []
        let level: [JSON.Member] = interruptionLevel.map { [.init("interruption-level", .string($0.rawValue))] } ?? []
        return .object([JSON.Member("aps", .object(aps + mutable + level))] + (payload?.members ?? []))
    }
}

extension Send.Content {
    /// The content of a push that another system sent; nil for types of which scenarios know nothing.
    ///
    /// - Parameter isSilent: whether it has `content-available`, and no alert, sound or badge.
    public init?(_ type: PushType, isSilent: Bool, payload: JSON) {
        switch type {
        case .alert, .background:
            let isAvailable = payload["aps"]?["content-available"] == 1
            self = isSilent ? .silent : isAvailable ? .alertWithContent : .alert
        case .pushtotalk: self = .pushToTalk
        case .voip: self = .voip
        case .complication, .controls, .fileprovider, .liveactivity, .location, .mdm, .widgets: return nil
        }
    }
}
