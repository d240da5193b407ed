public import HTTPTypes
public import Identity
public import Records

/// A part of a route besides its path, its body and its answer.
public struct RouteTrait: Sendable {
    let apply: @Sendable (inout Route) -> Void

    /// Serves callers without a credential.
    public static let open = access(.open)
    /// The body is not a document and may be large.
    public static let takesContent = takesContent(true)
    /// A repeat with the same `Idempotency-Key` takes effect again.
    public static let ignoresIdempotencyKey = RouteTrait { $0.ignoresIdempotencyKey = true }

    /// Has all of these traits.
    public static func all(_ traits: RouteTrait...) -> RouteTrait {
        RouteTrait { route in for trait in traits { trait.apply(&route) } }
    }

    /// Has a body in NDJSON: a document on each line.
    public static func lines(_ line: any Record.Type) -> RouteTrait {
        RouteTrait { ($0.line, $0.takesContent) = (line, true) }
    }

    /// Has a JSON document as its body, for a handler that reads it itself.
    public static func document(_ document: any Record.Type) -> RouteTrait { RouteTrait { $0.request = document } }

    /// Whether the API description contains the route.
    public static func described(_ isDescribed: Bool) -> RouteTrait { RouteTrait { $0.isDescribed = isDescribed } }

    /// Whether the body is not a document and may be large.
    public static func takesContent(_ takes: Bool) -> RouteTrait { RouteTrait { $0.takesContent = takes } }

    /// Has secrets in its body. The fingerprint of a repeatable request contains none of them: `omit` returns
    /// the document without them. A hash of a short secret could be reversed.
    public static func secrets(_ omit: @escaping @Sendable (JSON) -> JSON) -> RouteTrait {
        RouteTrait { $0.omitsSecrets = omit }
    }

    /// Serves only these callers.
    public static func access(_ access: Route.Access) -> RouteTrait { RouteTrait { $0.access = access } }

    /// Serves only operators whose key has the scope.
    public static func scope(_ scope: Caller.Scope) -> RouteTrait { access(.scope(scope)) }

    /// Has parameters besides the identifiers of the path.
    public static func parameters(_ parameters: RouteParameter...) -> RouteTrait { .parameters(parameters) }

    /// Has parameters besides the identifiers of the path.
    public static func parameters(_ parameters: [RouteParameter]) -> RouteTrait {
        RouteTrait { $0.parameters += parameters }
    }

    /// Checks parameters of the path before it reads the body.
    public static func checks(_ check: @escaping @Sendable (Call) throws -> Void) -> RouteTrait {
        RouteTrait { $0.check = check }
    }

    /// Handles query parameters that the route does not describe.
    public static func unknownQuery(_ rule: Route.UnknownQuery) -> RouteTrait { RouteTrait { $0.unknownQuery = rule } }

    /// Has these statuses of success, the most usual first.
    public static func status(_ statuses: HTTPResponse.Status...) -> RouteTrait { .status(statuses) }

    /// Has these statuses of success, the most usual first.
    public static func status(_ statuses: [HTTPResponse.Status]) -> RouteTrait { RouteTrait { $0.statuses = statuses } }

    /// Has a JSON document in its answer, for a handler that returns a `Response`.
    public static func answers(_ document: (any Value.Type)?) -> RouteTrait { RouteTrait { $0.response = document } }

    /// Has text in its answer.
    public static func text(_ text: TextContent) -> RouteTrait { RouteTrait { $0.text = text } }

    /// Has content of a media type in its answer; `*/*` if the type varies.
    public static func bytes(_ type: String?) -> RouteTrait { RouteTrait { $0.bytes = type } }

    /// May answer with these problems, besides those that follow from the rest of the description.
    public static func refuses(_ problems: [Problem]) -> RouteTrait { RouteTrait { $0.problems += problems } }

    /// Has the errors of another protocol: the values of `{"reason": …}` by status.
    public static func reasons(_ reasons: [Int: [String]]) -> RouteTrait { RouteTrait { $0.reasons = reasons } }

    /// Has an example of its answer, in JSON.
    public static func example(_ example: String) -> RouteTrait { RouteTrait { $0.example = example } }
}
