import Glibc

/// No free port was found.
public struct NoFreePort: Error {
    public init() {}
}

/// Returns a free TCP port on 127.0.0.1.
///
/// The random port is below the range of outgoing connections, so no other process gets it by chance while a test
/// restarts its server. Prefer to bind port 0 if the server can report its port.
public func freePort() throws(NoFreePort) -> Int {
    for _ in 0..<200 {
        let port = Int.random(in: 15_000..<32_000)
        if isFree(port) { return port }
    }
    throw NoFreePort()
}

/// Whether a TCP port of 127.0.0.1 is free.
public func isFree(_ port: Int) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var reuse: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
}
