/// An entry of a multi-host connection string. libpq's asynchronous calls have no connect timeout, so the connection
/// tries one host at a time, each with its own timeout.
struct HostAddress: Sendable, Equatable, CustomStringConvertible {
    /// The host; nil for libpq's default (`PGHOST`, else the Unix socket).
    var host: String?
    var hostaddr: String?
    var port: String?

    static func list(host: String?, hostaddr: String?, port: String?) throws(PostgresError) -> [HostAddress] {
        let hosts = split(host)
        let addresses = split(hostaddr)
        let ports = split(port)
        for port in ports where !port.isEmpty {
            guard let number = Int(port), (1...65_535).contains(number) else {
                throw .invalidOptions(part: "port", reason: "must be 1 to 65535")
            }
        }
        let count = max(hosts.count, addresses.count, 1)
        guard hosts.isEmpty || addresses.isEmpty || hosts.count == addresses.count else {
            throw .invalidOptions(part: "hostaddr", reason: "must name as many hosts as host does")
        }
        guard ports.count <= 1 || ports.count == count else {
            throw .invalidOptions(part: "port", reason: "must be one port for all hosts, or one for each")
        }
        return (0..<count).map { index in
            HostAddress(
                host: nonEmpty(hosts, index), hostaddr: nonEmpty(addresses, index),
                port: nonEmpty(ports, ports.count == 1 ? 0 : index))
        }
    }

    private static func split(_ list: String?) -> [String] {
        list.map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) } ?? []
    }

    private static func nonEmpty(_ list: [String], _ index: Int) -> String? {
        list.indices.contains(index) && !list[index].isEmpty ? list[index] : nil
    }

    var description: String {
        let name = host ?? hostaddr ?? "default host"
        return port.map { "\(name):\($0)" } ?? name
    }
}
