// The list of pushes: what became of each notification that a provider sent.

import { get, textAndNext, path } from './api.js'
import { toDevice, changed } from './address.js'
import { $, h, keyed, say, show } from './dom.js'
import { Filters } from './filters.js'
import { save } from './files.js'
import { dateAndTime, number, plural, span, verdicts } from './words.js'

const pageSize = 100
/** A file has at most this number of pages of 1000 rows. */
const mostPages = 100
const types = ['silent', 'alert', 'background', 'voip', 'complication', 'controls', 'fileprovider', 'liveactivity', 'location', 'mdm', 'pushtotalk', 'widgets']

export class Pushes {
  constructor(failed) {
    this.failed = failed
    this.filters = new Filters($('pushes-filters'), [
      { name: 'verdict', label: 'Verdict', options: [['', 'all'], ...Object.entries(verdicts)] },
      { name: 'type', label: 'Type', options: [['', 'all'], ...types] },
      { name: 'app', label: 'App', hint: 'all apps' }, { name: 'device', label: 'Device', hint: 'all devices' },
      { name: 'from', label: 'Sent from', kind: 'time' }, { name: 'to', label: 'to', kind: 'time' },
      { name: 'lateAfter', label: 'Late after, in seconds', kind: 'number', hint: '30' },
    ])
    $('pushes-more').addEventListener('click', () => this.more())
    $('pushes-csv').addEventListener('click', () => this.save())
  }

  open({ query }) {
    this.query = { ...this.filters.read(), fleet: query.fleet }
    this.rows = []
    this.next = undefined
    this.isWhole = false
    say($('pushes-lead'), 'Reading the log …')
    keyed($('pushes-rows'), [], row => row.notification)
    show($('pushes-more'), false)
  }

  close() { this.saving?.abort() }

  async refresh(signal) {
    const { query } = this
    const page = await this.ask({ ...query, limit: pageSize }, signal)
    if (!page || query !== this.query) return
    const names = new Set(page.items.map(row => row.notification))
    const oldest = page.items.at(-1)?.sentAt ?? ''
    const earlier = page.next ? this.rows.filter(row => !names.has(row.notification) && row.sentAt <= oldest) : []
    if (earlier.length === 0) this.next = page.next
    this.rows = [...page.items, ...earlier]
    this.write()
  }

  async more() {
    const { query } = this
    const page = await this.ask({ ...query, limit: pageSize, cursor: this.next }).catch(error => this.failed(error))
    if (!page || query !== this.query) return
    const names = new Set(this.rows.map(row => row.notification))
    this.rows.push(...page.items.filter(row => !names.has(row.notification)))
    this.next = page.next
    this.write()
  }

  /** Returns a page, or nothing if a filter is refused. */
  async ask(query, signal) {
    try {
      return await get(path('v1/pushes', query), signal)
    } catch (error) {
      if (error.status !== 400) throw error
      this.filters.refuse(error)
      say($('pushes-lead'), 'The service refuses these filters.')
    }
  }

  write() {
    keyed($('pushes-rows'), this.rows, row => row.notification, make, fill)
    show($('pushes-more'), Boolean(this.next))
    show($('pushes-table'), this.rows.length > 0)
    $('pushes-csv').disabled = this.rows.length === 0
    say($('pushes-lead'), this.rows.length === 0 ? 'No push matches.'
      : `${plural(this.rows.length, 'push', 'pushes')}${this.next ? ', and earlier ones' : ''}, newest first`)
  }

  async save() {
    this.saving?.abort()
    const { signal } = this.saving = new AbortController()
    const lines = []
    let cursor
    try {
      for (let pages = 0; pages < mostPages; pages += 1) {
        const page = await textAndNext(path('v1/pushes', { ...this.query, limit: 1000, cursor }), 'text/csv', signal)
        // Each page has a header line.
        lines.push(pages === 0 ? page.text : page.text.slice(page.text.indexOf('\n') + 1))
        cursor = page.next
        say($('pushes-lead'), `Reading page ${number(pages + 1)} …`)
        if (!cursor) break
      }
      save('pushes.csv', 'text/csv', lines.join(''))
      this.write()
      if (cursor) say($('pushes-lead'), `The file has only the newest ${number(mostPages * 1000)} pushes.`)
    } catch (error) { if (!signal.aborted) this.failed(error) }
  }
}

function make(row) {
  const device = h('td', { class: 'device' }, h('a', { href: toDevice(row.device) }, row.device))
  return h('tr', {},
    h('td', { class: 'verdict-cell' }, h('span', { class: 'verdict' })),
    h('td', { class: 'sent' }, h('time', { datetime: row.sentAt }, dateAndTime(row.sentAt))),
    device, h('td', { class: 'app' }, row.app ?? '–'), h('td', { class: 'type-cell' }, row.type),
    h('td', { class: 'number delay' }), h('td', { class: 'outcome' }),
    h('td', { class: 'ask' }, h('a', { class: 'why', 'aria-label': `Why ${row.verdict}? Push to ${row.device}` }, 'why?')))
}

function fill(element, row) {
  const [verdict, , , , , delay, outcome, ask] = element.children
  verdict.firstElementChild.dataset.verdict = row.verdict
  say(verdict.firstElementChild, verdicts[row.verdict])
  say(delay, row.delay === null ? '–' : span(row.delay * 1000))
  say(outcome, row.why ?? row.outcome)
  ask.firstElementChild.setAttribute('href', changed({ why: row.event }))
}
