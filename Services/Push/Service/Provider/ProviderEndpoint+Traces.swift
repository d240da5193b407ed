import HTTPKit
import Telemetry

extension ProviderEndpoint {
    /// Answers a request over HTTP/2, and records its span.
    ///
    /// - Parameter tracer: keeps the spans; nil if they are not exported.
    func answer(
        _ request: ProviderRequest, on connection: ProviderConnection, _ tracer: Tracer?
    ) async -> ProviderAnswer {
        let parent = request.header("traceparent").flatMap(Traceparent.init)
        guard let tracer else {
            return await answer(request, on: connection, traceparent: parent?.child().description)
        }
        let start = ContinuousClock.now
        let context = parent?.child() ?? tracer.newTrace()
        let isKept = parent != nil || context.isSampled
        let answer = await answer(request, on: connection, traceparent: isKept ? context.description : nil)
        if context.isSampled {
            tracer.record(
                Span(
                    request: request.method, route: request.route, status: answer.status, context,
                    parent: parent?.spanID, start: start))
        }
        return answer
    }
}

extension ProviderRequest {
    /// The route of the path, as the REST port names it; nil for an unknown path.
    var route: String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        return switch (parts.count, parts.first) {
        case (3, "3") where parts.dropFirst().first == "device": "/3/device/{token}"
        case (4, "1") where parts.dropFirst().first == "apps" && parts.last == "channels": "/1/apps/{app}/channels"
        case (4, "1") where parts.dropFirst().first == "apps" && parts.last == "all-channels":
            "/1/apps/{app}/all-channels"
        case (4, "4") where parts.dropFirst().prefix(2).elementsEqual(["broadcasts", "apps"]):
            "/4/broadcasts/apps/{app}"
        default: nil
        }
    }
}
