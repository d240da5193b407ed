public import Machines
import Records

extension PushMachine {
    /// Upgrades older stored forms.
    ///
    /// Version 1 has the form of version 2, and its events mean the same. The versions differ in the wait of a
    /// notification of priority 5 that replaces another. The machine decides that wait when the notification arrives.
    public static func upgraded(_ binary: [UInt8], from version: Int) -> Upgrade<PushMachine>? {
        switch version {
        case 1: PushMachine(binary: binary).map { .exact($0) }
        default: nil
        }
    }
}
