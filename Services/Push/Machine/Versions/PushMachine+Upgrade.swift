public import Machines
import Records

extension PushMachine {
    /// Reads the forms of former versions.
    ///
    /// Version 1 has the form of version 2, and its events mean the same. What changed is how long a notification of priority
    /// 5 waits that takes the place of another: that is decided when it comes.
    public static func upgraded(_ binary: [UInt8], from version: Int) -> Upgrade<PushMachine>? {
        switch version {
        case 1: PushMachine(binary: binary).map { .exact($0) }
        default: nil
        }
    }
}
