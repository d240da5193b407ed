import Contracts
import FetchMachine
import OrderedCollections
import Records
import Timeline

/// What the refreshes of a device have spent today, and what is left.
struct BudgetsDocument: Record {
    /// One limit of a day. A quarter of it is there from the beginning of the day, the rest comes evenly over 24 h.
    struct Account: Record {
        /// Of the whole day.
        var limit = 0
        var spent = 0
        /// What the day allows so far, spent or not.
        var allowed = 0

        init() {}

        init(limit: Int, spent: Int, day: Instant, now: Instant) {
            self.limit = limit
            self.spent = spent
            allowed = Budget.available(limit, day, at: now)
        }

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("allowed", &allowed)
            fields.field("limit", &limit)
            fields.field("spent", &spent)
        }
    }

    /// The budgets of an app, or of a device.
    struct Ledger: Record {
        /// In millijoules. On a charger nothing is spent.
        var energy = Account()
        /// In bytes.
        var data = Account()
        /// When what is spent is covered again; null where it is.
        var availableAt: Instant?

        init() {}

        init(_ spending: Spending, _ budget: Budget, day: Instant, now: Instant) {
            let spent = spending.asOf(now)
            energy = Account(limit: budget.millijoules, spent: spent.millijoules, day: day, now: now)
            data = Account(limit: budget.bytes, spent: spent.bytes, day: day, now: now)
            let moment = budget.allows(spending)
            availableAt = moment > now ? moment : nil
        }

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("availableAt", &availableAt)
            fields.field("data", &data)
            fields.field("energy", &energy)
        }
    }

    /// What binds an app: its own budgets, and those of its device.
    struct Pair: Record {
        var app = Ledger()
        var device = Ledger()

        init() {}

        init(_ app: ScheduledApp, _ device: FetchMachine, now: Instant, _ policy: FetchPolicy) {
            let day = device.day(of: now, policy)
            self.app = Ledger(app.spending, policy.appBudget, day: day, now: now)
            self.device = Ledger(device.spending, policy.deviceBudget, day: day, now: now)
        }

        mutating func visit<V: FieldVisitor>(_ fields: inout V) {
            fields.field("app", &app)
            fields.field("device", &device)
        }
    }

    var day = Instant.epoch
    var device = Ledger()
    /// By the bundle identifiers of the apps.
    var apps: OrderedDictionary<String, Ledger> = [:]

    init() {}

    init(_ state: FetchMachine, now: Instant, _ policy: FetchPolicy) {
        let day = state.day(of: now, policy)
        self.day = day
        device = Ledger(state.spending, policy.deviceBudget, day: day, now: now)
        for (name, app) in state.apps { apps[name] = Ledger(app.spending, policy.appBudget, day: day, now: now) }
    }

    mutating func visit<V: FieldVisitor>(_ fields: inout V) {
        fields.field("apps", &apps)
        fields.field("day", &day)
        fields.field("device", &device)
    }
}
