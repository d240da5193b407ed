/// A page of a list: `{"items":[…],"next":…}`.
public struct Page<Item: Value>: Record {
    public var items: [Item]
    /// The `?cursor=` of the next page; null on the last one.
    public var next: String?

    public static var placeholder: Page { Page([]) }

    /// Creates a page.
    public init(_ items: [Item], next: String? = nil) {
        self.items = items
        self.next = next
    }

    public mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("items", &items)
        fields.field("next", &next)
    }
}
