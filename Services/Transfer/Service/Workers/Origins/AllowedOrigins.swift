import NIOCore
import ServiceKit
import TransferCore

/// The origins that tasks may use. Listed origins may have any address. With `*`, tasks may also use every other origin
/// whose addresses are all public.
struct AllowedOrigins: Sendable {
    private let listed: Set<WebOrigin>
    private let allowsPublic: Bool
    private let resolve: Resolver
    private let isPublic: @Sendable (SocketAddress) -> Bool

    /// - Parameters:
    ///   - text: comma-separated origins and `*`.
    ///   - resolve: called once for each connection to an origin that is not listed.
    ///   - isPublic: whether an origin that is not listed may have this address.
    init(
        _ text: String, resolve: @escaping Resolver = resolveBySystem,
        isPublic: @escaping @Sendable (SocketAddress) -> Bool = { $0.isPublic }
    ) throws(ConfigurationError) {
        var listed: Set<WebOrigin> = []
        let items = text.split(separator: ",").map { $0.filter { $0 != " " } }
        for item in items where item != "*" {
            guard let origin = WebOrigin(url: item),
                !item.dropFirst(origin.scheme.count + 3).contains(where: { "/?#".contains($0) })
            else {
                throw ConfigurationError("ALLOWED_ORIGINS must list origins such as http://127.0.0.1:8084, or *")
            }
            listed.insert(origin)
        }
        self.listed = listed
        allowsPublic = items.contains("*")
        self.resolve = resolve
        self.isPublic = isPublic
    }

    /// Whether a URL with this origin is allowed before its name is resolved.
    func mayFetch(_ origin: WebOrigin) -> Bool { allowsPublic || listed.contains(origin) }

    /// The way to connect to an origin.
    enum Way: Equatable {
        /// Connects by name.
        case direct
        /// Connects to one of these checked addresses, because a second resolution could return others.
        case pinned([String])
        case refused
        case unresolvable
    }

    func way(to origin: WebOrigin) async throws -> Way {
        if listed.contains(origin) { return .direct }
        guard allowsPublic else { return .refused }
        let addresses = try await resolve(origin.host)
        guard !addresses.isEmpty else { return .unresolvable }
        guard addresses.allSatisfy(isPublic) else { return .refused }
        let pinned = addresses.compactMap(\.ipAddress)
        return pinned.isEmpty ? .refused : .pinned(pinned)
    }
}
