public import Contracts
public import Records

/// A network connection: `wifi`, `none`, `cellular`, `edge`, `3g`, `lte`, `5g` or `lossy`, then `expensive` or
/// `constrained` (Low Data Mode) where they apply.
///
/// All cellular connections are expensive, as `NWPath.isExpensive` is on a device. `lossy` is a Wi-Fi that loses packets.
public struct NetworkText: TextValue {
    /// The words for kinds of networks.
    public enum Word: String, Sendable, CaseIterable {
        case none, wifi, lossy, cellular, edge
        case thirdGeneration = "3g"
        case lte
        case fifthGeneration = "5g"
    }

    public let word: Word
    public let isExpensive: Bool
    public let isConstrained: Bool

    public init(_ word: Word, expensive: Bool = false, constrained: Bool = false) {
        self.word = word
        isExpensive = expensive || (word.kind == .cellular)
        isConstrained = constrained
    }

    /// The condition that a device reports to `lifecycle`.
    public var network: Network {
        var network = Network()
        network.kind = word.kind
        network.shape = word.shape
        network.expensive = isExpensive
        network.constrained = isConstrained
        return network
    }

    public static let form = "a network such as wifi, none, lte, 5g constrained or wifi expensive"
    public static let pattern = "(?:none|wifi|lossy|cellular|edge|3g|lte|5g)(?: expensive)?(?: constrained)?"
    public static var placeholder: NetworkText { NetworkText(.wifi) }

    public init?(_ text: String) {
        guard let network = TextScanner.whole(text, Self.scan) else { return nil }
        self = network
    }

    static func scan(_ scanner: inout TextScanner) -> NetworkText? {
        guard let text = scanner.word(), let word = Word(rawValue: String(text)) else { return nil }
        let isExpensive = scanner.take(" expensive")
        return NetworkText(word, expensive: isExpensive, constrained: scanner.take(" constrained"))
    }

    public var description: String {
        word.rawValue + (isExpensive && word.kind != .cellular ? " expensive" : "")
            + (isConstrained ? " constrained" : "")
    }
}

extension NetworkText.Word {
    /// Creates the word for the speed of a network. A cellular one without a shape is LTE.
    public init(_ network: Network) {
        self =
            switch (network.kind, network.shape) {
            case (.none, _): .none
            case (_, .edge): .edge
            case (_, .thirdGeneration): .thirdGeneration
            case (_, .fifthGeneration): .fifthGeneration
            case (_, .lossy): .lossy
            case (_, .lte), (.cellular, nil): .lte
            case (_, .wifi), (.wifi, nil): .wifi
            }
    }

    /// `NWPath`'s interface.
    public var kind: NetworkKind {
        switch self {
        case .none: .none
        case .wifi, .lossy: .wifi
        case .cellular, .edge, .thirdGeneration, .lte, .fifthGeneration: .cellular
        }
    }

    /// The bandwidth and latency profile; nil without a network, and `lte` for `cellular`.
    public var shape: NetworkShape? {
        switch self {
        case .none: nil
        case .wifi: .wifi
        case .lossy: .lossy
        case .cellular, .lte: .lte
        case .edge: .edge
        case .thirdGeneration: .thirdGeneration
        case .fifthGeneration: .fifthGeneration
        }
    }
}

/// A network in a part of the day: `mon-fri 07:40-08:10 none`.
public struct NetworkPeriod: TextValue {
    public let period: DailyPeriod
    public let network: NetworkText

    public init(_ period: DailyPeriod, _ network: NetworkText) {
        self.period = period
        self.network = network
    }

    public static let form = "a part of the day and a network such as mon-fri 07:40-08:10 none or always lte"
    public static var pattern: String { "\(DailyPeriod.pattern) \(NetworkText.pattern)" }
    public static var placeholder: NetworkPeriod { NetworkPeriod(.placeholder, .placeholder) }

    public init?(_ text: String) {
        let period: NetworkPeriod? = TextScanner.whole(text) { scanner in
            guard let period = DailyPeriod.scan(&scanner), scanner.space(), let network = NetworkText.scan(&scanner)
            else { return nil }
            return NetworkPeriod(period, network)
        }
        guard let period else { return nil }
        self = period
    }

    public var description: String { "\(period) \(network)" }
}

/// The networks of a person: the usual one, and named periods with another.
///
/// `{usual: wifi, commute: "mon-fri 07:30-08:30 lte", tunnel: "mon-fri 07:40-08:10 none"}`. All names but `usual` are
/// free. Where periods overlap, the one that began last applies; of two that began together, the last name.
public struct NetworkPlan: Value, Hashable {
    /// A period with its name.
    public struct Named: Sendable, Hashable {
        public let name: String
        public let period: NetworkPeriod
    }

    /// The network outside of all periods.
    public let usual: NetworkText
    /// The periods in the order of their names; at most 32.
    public let periods: [Named]

    public init(usual: NetworkText = .placeholder, periods: [Named] = []) {
        self.usual = usual
        self.periods = periods
    }

    public static var placeholder: NetworkPlan { NetworkPlan() }
    public static var schema: JSON {
        [
            "type": "object", "properties": ["usual": NetworkText.schema],
            "propertyNames": ["pattern": "^[A-Za-z0-9._:-]{1,128}$"], "additionalProperties": NetworkPeriod.schema,
            "maxProperties": 33,
        ]
    }

    public func write(to binary: inout BinaryWriter) {
        usual.write(to: &binary)
        periods.count.write(to: &binary)
        for named in periods {
            named.name.write(to: &binary)
            named.period.write(to: &binary)
        }
    }

    public static func read(from binary: inout BinaryReader) -> NetworkPlan {
        let usual = NetworkText.read(from: &binary)
        let count = Int.read(from: &binary)
        guard (0...32).contains(count) else {
            binary.fail()
            return .placeholder
        }
        var periods: [Named] = []
        for _ in 0..<count {
            periods.append(Named(name: String.read(from: &binary), period: NetworkPeriod.read(from: &binary)))
        }
        return NetworkPlan(usual: usual, periods: periods)
    }

    public func write(to json: inout JSONWriter) {
        var members = periods.map { ($0.name, $0.period.description) }
        members.append(("usual", usual.description))
        members.sort { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
        json.object { for (name, text) in members { $0.member(name) { $0.write(text) } } }
    }

    public static func read(_ json: JSON, _ reader: inout JSONReader) -> NetworkPlan? {
        guard let members = json.members, members.count <= 33 else {
            reader.fault("must be an object with at most 33 members: usual, and names of periods")
            return nil
        }
        var usual: NetworkText? = NetworkText(.wifi)
        var periods: [Named] = []
        var isGood = true
        for member in members.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
            if member.name == "usual" {
                usual = reader.descend(member.name, member.value)
            } else if !isIdentifier(member.name) {
                reader.fault("must have names of 1 to 128 of A-Z a-z 0-9 . _ : -")
                isGood = false
            } else if let period: NetworkPeriod = reader.descend(member.name, member.value) {
                periods.append(Named(name: member.name, period: period))
            } else {
                isGood = false
            }
        }
        guard isGood, let usual else { return nil }
        return NetworkPlan(usual: usual, periods: periods)
    }
}
