import NIOCore
import ServiceKit
import TransferMachine

/// Where this service fetches from on behalf of callers. Origins that are listed may be anywhere; with `*` every other one may
/// be fetched too whose addresses are all public.
struct AllowedOrigins: Sendable {
    private let listed: Set<WebOrigin>
    private let allowsPublic: Bool
    private let resolve: Resolver
    private let isPublic: @Sendable (SocketAddress) -> Bool

    /// - Parameters:
    ///   - text: origins with commas between them, and `*`.
    ///   - resolve: asked once for each connection to an origin that is not listed.
    ///   - isPublic: which addresses may be connected to without being listed.
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

    /// Whether a URL may be fetched as far as it tells by itself.
    func mayFetch(_ origin: WebOrigin) -> Bool { allowsPublic || listed.contains(origin) }

    /// How to reach an origin.
    enum Way: Equatable {
        /// By its name, resolved as usual.
        case direct
        /// By one of these addresses: those that were looked at, so that the name can't change its mind.
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
