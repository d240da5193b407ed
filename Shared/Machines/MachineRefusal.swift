public import Contracts
public import Timeline

/// The reason why a machine refuses an input. A refusal changes nothing.
///
/// Each machine declares its refusals as static members. Refusals with the same reason are equal.
public protocol MachineRefusal: Error, Equatable, CustomStringConvertible {
    /// The kind, the code and the texts.
    var reason: RefusalReason { get }
    init(_ reason: RefusalReason)
}

/// The code of a refusal, and its texts for people.
public struct RefusalReason: Sendable, Equatable {
    /// The kind of a refusal, which decides the status of the answer.
    public enum Kind: Sendable, Equatable {
        /// The token in the input is wrong.
        case invalid
        /// The input lacks a value, or has one that the machine can't use.
        case unprocessable
        /// The input names something that does not exist.
        case notFound
        /// The state or the profile does not allow the input.
        case conflict
        /// A quota of bytes is used up.
        case noSpace
        /// The token in the input became inactive at this time.
        case gone(since: Instant)
        /// The machine can't read an event of another service.
        case unreadable(ContractError)
    }

    public let kind: Kind
    /// The stable problem code.
    public let code: String
    /// A few words for people, the same for every occurrence.
    public let title: String
    /// A sentence about this occurrence.
    public let detail: String
}

extension MachineRefusal {
    /// Creates a refusal with a stable code, a title for all occurrences, and a detail with the values of this one.
    public init(_ kind: RefusalReason.Kind, _ code: String, _ title: String, _ detail: String) {
        self.init(RefusalReason(kind: kind, code: code, title: title, detail: detail))
    }

    /// The stable problem code.
    public var code: String { reason.code }
    public var description: String { reason.detail }

    /// The error of an unreadable event of another service; nil for other refusals.
    ///
    /// A refused event changes nothing. An unreadable event might have changed something. So the runtime parks its
    /// device, or halts if a newer program wrote the event.
    public var unreadable: ContractError? { if case .unreadable(let error) = reason.kind { error } else { nil } }
}

/// The refusals of several machines.
extension MachineRefusal {
    public static var deviceNotRegistered: Self {
        Self(.notFound, "device_not_registered", "Device is not registered", "The device is not registered.")
    }
    public static func appNotInstalled(_ app: String) -> Self {
        Self(.notFound, "app_not_installed", "App is not installed", "The app \(app) is not installed.")
    }
    public static var deviceOff: Self {
        Self(.conflict, "device_off", "Device is switched off", "The device is switched off. Switch it on first.")
    }
    /// The generation of the device lacks the feature of the call.
    public static func unsupported(_ feature: Feature, on profile: Profile) -> Self {
        Self(
            .conflict, "unsupported_on_profile", "Feature is not in the device's version of iOS",
            profile.lack(of: feature))
    }
    public static func unreadableEvent(_ error: ContractError) -> Self {
        Self(.unreadable(error), "unreadable_event", "Event can't be read", error.description)
    }
}

/// Lets `catch FetchRefusal.deviceOff` match an error.
public func ~= <Refusal: MachineRefusal>(pattern: Refusal, error: any Error) -> Bool { error as? Refusal == pattern }
