import Contracts
import Crypto
import EventLog
import HTTPKit
import HTTPTypes
import Hummingbird
import Identity
import NIOCore
import Postgres
import Records
import Synchronization
import Telemetry

/// The routes of the provider endpoint over HTTP/1.1 and of provider keys.
struct ProviderRoutes: Sendable {
    let endpoint: ProviderEndpoint
    let store: PushStore
    let keys: ProviderKeys
    private let connections = ProviderConnections()

    private static let methods = [HTTPRequest.Method.get, .put, .delete, .patch, .post]

    func add(to table: inout RouteTable) {
        let path = "/3/device/{token}"
        table.add(
            .post, path, "Sends a notification, as APNs does", .apns(.ofNotifications, APNsReason.ofNotifications),
            use: answer)
        // All other paths and methods under /3 answer with APNs's errors, which stock clients can read.
        for method in Self.methods {
            if method != .post { refuse(method, path, &table) }
            refuse(method, "/3/**", &table)
            // A node of the path above: the router does not fall back from it to the wildcard.
            refuse(method, "/3/device", &table)
        }
        addChannels(&table)
        addKeys(&table)
    }

    private func refuse(_ method: HTTPRequest.Method, _ path: String, _ table: inout RouteTable) {
        table.add(method, path, "APNs's own error", .open, .described(false), .unknownQuery(.ignored), use: answer)
    }

    private func addChannels(_ table: inout RouteTable) {
        let (channels, broadcasts) = ("/1/apps/{app}/channels", "/4/broadcasts/apps/{app}")
        table.add(
            .post, channels, "Creates a broadcast channel, as APNs does", .status(.created),
            .apns(.ofChannels, APNsReason.ofNewChannel), use: answer)
        table.add(
            .get, channels, "The configuration of the channel in apns-channel-id", .answers(JSON.self),
            .apns(.ofOneChannel, APNsReason.ofOneChannel), use: answer)
        table.add(
            .delete, channels, "Deletes the channel in apns-channel-id", .status(.noContent),
            .apns(.ofOneChannel, APNsReason.ofOneChannel), use: answer)
        table.add(
            .get, "/1/apps/{app}/all-channels", "The channels of an app", .answers(JSON.self),
            .apns(.ofChannels, APNsReason.ofChannels), use: answer)
        table.add(
            .post, broadcasts, "Sends a notification to all subscribers of the channel in apns-channel-id",
            .apns(.ofBroadcasts, APNsReason.ofBroadcasts), use: answer)
        // Other methods and paths answer with APNs's errors, as above.
        for path in [channels, "/1/apps/{app}/all-channels", broadcasts] {
            let own = table.routes.filter { $0.path == path }.map(\.method)
            for method in Self.methods where !own.contains(method) { refuse(method, path, &table) }
        }
        for path in ["/1/**", "/4/**"] {
            for method in Self.methods { refuse(method, path, &table) }
        }
    }

    private func answer(_ call: Call) async throws -> Response {
        let (request, context) = (call.request, call.context)
        let body = try? await request.body.collect(upTo: ProviderRequest.bodyLimit)
        let asked = ProviderRequest(
            method: request.method.rawValue, path: request.uri.path,
            headers: request.headers.map { ($0.name.canonicalName, $0.value) }, body: body.map { Array(buffer: $0) })
        let answer = await endpoint.answer(
            asked, on: connections.of(context.channel), traceparent: context.eventTraceparent)
        var headers = HTTPFields()
        for header in answer.headers { HTTPField.Name(header.name).map { headers[$0] = header.value } }
        return Response(
            status: .init(code: answer.status), headers: headers,
            body: answer.body.isEmpty ? .init() : .init(byteBuffer: ByteBuffer(bytes: answer.body)))
    }

    private func addKeys(_ table: inout RouteTable) {
        let path = "/v1/provider-keys"
        table.add(
            .post, path, "Registers a key with which providers of a team sign their tokens",
            body: ProviderKeyDocument.self, .scope(.operate), .status(.created),
            .refuses([.providerKeyExists, .tooManyProviderKeys])
        ) { key, call in
            let idempotency = try call.request.idempotency(of: try call.context.requireCaller(), call.context)
            let audit = try call.audit(.providerKeyCreated, of: "providerKey:\(key.teamID):\(key.keyID)")
            do { try await store.add(key, idempotency, audit: audit) } catch let error as PostgresError {
                throw problem(error)
            }
            // The change is committed. A failed refresh delays its effect by a few seconds.
            try? await keys.refresh()
            return Reply(key)
        }
        table.add(.get, path, "The registered keys of all teams", .scope(.read)) { _ in
            Reply(Page(try await store.allKeys()))
        }
        table.add(.delete, path + "/{team}/{key}", "Removes a provider key", .scope(.operate)) { call in
            let (team, key) = (try call.identifier("team"), try call.identifier("key"))
            let audit = try call.audit(.providerKeyRemoved, of: "providerKey:\(team):\(key)")
            guard try await store.removeKey(key, team: team, audit: audit) else {
                throw Problem.notFound
            }
            // The change is committed. A failed refresh delays its effect by a few seconds.
            try? await keys.refresh()
            return NoContent()
        }
    }

    private func problem(_ error: PostgresError) -> any Error {
        guard case .server(let server) = error else { return error }
        switch server.constraint {
        case "provider_keys_pkey": return Problem.providerKeyExists
        case "provider_keys_partition_team_environment_slot_key", "provider_keys_slot_check":
            return Problem.tooManyProviderKeys
        default: return error
        }
    }
}

extension Problem {
    static let providerKeyExists = Problem(
        .conflict, "provider_key_exists", "Provider key already exists",
        detail: "The team has a key with this id in this environment. Remove it before you register another one.")
    /// Apple: a team has two keys for all its topics in each environment.
    static let tooManyProviderKeys = Problem(
        .conflict, "too_many_provider_keys", "Too many provider keys",
        detail: "A team has at most two keys for all topics in an environment. Remove one, or name topics.")
}

/// The provider state of open HTTP/1.1 connections.
private final class ProviderConnections: Sendable {
    private let open = Mutex<[ObjectIdentifier: ProviderConnection]>([:])

    func of(_ channel: any Channel) -> ProviderConnection {
        let id = ObjectIdentifier(channel)
        let (connection, isNew) = open.withLock { open in
            if let known = open[id] { return (known, false) }
            let connection = ProviderConnection(address: channel.clientAddress)
            open[id] = connection
            return (connection, true)
        }
        if isNew {
            channel.closeFuture.whenComplete { [weak self] _ in self?.open.withLock { $0[id] = nil } }
        }
        return connection
    }
}
