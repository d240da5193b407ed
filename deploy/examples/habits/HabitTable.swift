/// The results of simulations as a text table.
enum HabitTable {
    /// Returns the table with a line break at its end.
    static func text(_ outcomes: [HabitOutcome]) -> String {
        var rows = [["", "opens at", "fetches a day", "new data", "content age at opening", "fetched ≤ 1 h before"]]
        for outcome in outcomes {
            for app in outcome.apps {
                let summary = outcome.summary(app)
                rows.append([
                    app.app.name, app.app.habit.words, summary.refreshesDaily, summary.newDataShare,
                    summary.contentAgeWords, summary.preparedShare,
                ])
            }
        }
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let lines = rows.map { row in
            zip(row.indices, row).map { column, cell in
                let room = String(repeating: " ", count: widths[column] - cell.count)
                // Texts are aligned left, numbers right.
                return column < 2 ? cell + room : room + cell
            }.joined(separator: "  ")
        }
        return (lines + [caption(outcomes)]).joined(separator: "\n") + "\n"
    }

    /// Returns the period and the time zone of the numbers.
    static func caption(_ outcomes: [HabitOutcome]) -> String {
        guard let outcome = outcomes.first else { return "" }
        let days = outcome.device.days
        let told = outcome.toldDays
        let span = told < days ? "The last \(told) of \(days) days" : days == 1 ? "One day" : "All \(days) days"
        return span + ", in the time zone " + (outcome.device.timeZone ?? "UTC") + "."
    }
}
