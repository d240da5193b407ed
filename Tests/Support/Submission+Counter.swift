import Contracts
import EventLog
public import MachineTesting
import Machines
public import Runtime

extension Submission<Counter> {
    /// A command that is answered with the total.
    public init(_ command: Counter.Command, to device: String) {
        self.init(key: .device(device), command: command, origin: .named()) { aggregate, _ in
            Array(String(aggregate.state.total).utf8)
        }
    }

    /// Adds to the total.
    public static func add(_ amount: Int, to device: String) -> Submission { Submission(.add(amount), to: device) }
}
