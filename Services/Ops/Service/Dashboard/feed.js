// The list of events of all services, newest first: live, or of a time range.

import { eventsOf, follow, path } from './api.js'
import { here, changed, toDevice } from './address.js'
import { $, h, say, show } from './dom.js'
import { Filters } from './filters.js'
import { isEcho, sentence } from './sentences.js'
import { dateAndTime, dayAndTime, plural, serviceOf, services, shortType, streamStates, subjectOf, timeOfDay } from './words.js'

/** The rows of the live list. A reader can't follow more. */
const most = 200
const pageSize = 100
/** The requests after which a search of a text stops, until the user continues it. `ops` answers each in a short time. */
const mostRequests = 10

export class Feed {
  /** `transfers` gets every event of the stream, also those that the feed filters out. */
  constructor(transfers, failed) {
    this.transfers = transfers
    this.failed = failed
    this.rows = $('feed-rows')
    this.isPaused = false
    // Events that are not shown yet, oldest first; at most `most`.
    this.waiting = []
    this.missed = 0
    this.filters = new Filters($('feed-filters'), [
      { name: 'service', label: 'Service', options: [['', 'all'], ...services] },
      { name: 'type', label: 'Type', hint: 'all types' }, { name: 'device', label: 'Device', hint: 'all devices' },
      { name: 'app', label: 'App', hint: 'all apps' }, { name: 'text', label: 'Text', kind: 'text', hint: 'any text' },
      { name: 'since', label: 'From', kind: 'time' }, { name: 'until', label: 'to', kind: 'time' },
      { name: 'echoes', label: 'Echoes', options: [['', 'hidden'], ['shown', 'shown']] },
    ])
    $('feed-pause').addEventListener('click', () => this.pause(!this.isPaused))
    $('feed-earlier').addEventListener('click', () => this.earlier().catch(error => this.fail(error)))
  }

  /** Shows the events of the address, or without `isWhole` the live events of the fleet. */
  start(isWhole) {
    this.stop()
    const { query } = here()
    const own = isWhole ? { ...this.filters.read(), label: query.label } : {}
    const { echoes, ...asked } = own
    this.asked = { ...asked, fleet: query.fleet }
    this.text = asked.text?.toLowerCase()
    // A filter by type or label names the wanted events, echoes too.
    this.hidesEchoes = echoes !== 'shown' && !own.type && !own.label
    this.isWhole = isWhole
    show($('feed-filters'), isWhole)
    show($('feed-label'), Boolean(own.label))
    if (own.label) {
      say($('feed-label').firstElementChild, `Only events with the label “${own.label}”.`)
      $('feed-label').lastElementChild.setAttribute('href', changed({ label: '' }))
    }
    const { signal } = this.ending = new AbortController()
    this.clear()
    // An event that arrives now is not in a range that has ended, and the stream does not know labels.
    this.isLive = !own.until && !own.label
    show($('feed-pause'), this.isLive)
    show($('feed-state'), this.isLive)
    say($('feed-title'), this.isLive ? 'Live feed' : 'Past events')
    if (this.isLive) this.listen(signal)
    else this.fill().catch(error => this.fail(error))
    this.timer = setInterval(() => this.flush(), 250)
  }

  listen(signal) {
    const { since, text, ...asked } = this.asked
    follow(path('v1/events/stream', asked), {
      signal,
      told: event => {
        this.transfers?.hear(event)
        this.take(event)
      },
      state: state => { this.state = state; this.tell() },
      failed: error => this.fail(error),
      opened: isFirst => isFirst && Promise.all([this.fill(), this.transfers?.fill(signal)]),
    })
  }

  stop() {
    this.ending?.abort()
    this.filling?.abort()
    clearInterval(this.timer)
  }

  fail(error) {
    if (error.status !== 400) return this.failed(error)
    this.filters.refuse(error)
    this.ending.abort()
    say($('feed-state'), 'refused')
  }

  /** The stream does not search texts. This is the search of `ops`. */
  fits(event) {
    if (this.hidesEchoes && isEcho(event)) return false
    return !this.text || `${event.type} ${event.subject} ${JSON.stringify(event.data)}`.toLowerCase().includes(this.text)
  }

  /** Requests a page. A page with a text may be short, so the search goes on for some requests. */
  async page(cursor, signal) {
    const items = []
    let page
    let requests = 0
    do {
      page = await eventsOf({ ...this.asked, limit: pageSize - items.length, cursor }, signal)
      items.push(...page.items)
      cursor = page.next
      requests += 1
    } while (this.text && cursor && items.length < pageSize && requests < mostRequests)
    return { items, next: cursor, searchedTo: items.length < pageSize ? page.searchedTo : undefined }
  }

  /** Requests earlier events after the stream is open, so that no event is missed between. */
  async fill() {
    this.filling?.abort()
    const { signal } = this.filling = new AbortController()
    this.isFilled = false
    try {
      const page = await this.page(undefined, signal)
      const news = this.waiting
      this.clear()
      this.turn(page)
      for (const event of page.items.reverse().concat(news)) this.take(event)
      this.missed = 0
    } catch (error) {
      if (signal.aborted) return
      throw error
    } finally {
      if (!signal.aborted) this.isFilled = true
    }
    this.write()
  }

  /** Adds the page before the shown events. */
  async earlier() {
    this.filling?.abort()
    const { signal } = this.filling = new AbortController()
    const page = await this.page(this.next, signal)
    if (signal.aborted) return
    this.turn(page)
    this.rows.append(...page.items.filter(event => !this.seen.has(event.id) && this.fits(event)).map(row))
    // The list of a reader who looks back does not lose its oldest rows.
    this.mostRows = Math.max(this.mostRows, this.rows.childElementCount)
    this.showRows()
  }

  turn({ next, searchedTo }) {
    this.next = next
    this.searchedTo = next && searchedTo
  }

  clear() {
    this.seen = new Set()
    this.waiting = []
    this.missed = 0
    this.skipped = 0
    this.turn({})
    this.mostRows = most
    this.rows.replaceChildren()
    show($('feed-empty'), false)
    show($('feed-earlier'), false)
    say($('feed-lead'), '')
  }

  take(event) {
    if (this.seen.has(event.id)) return
    this.seen.add(event.id)
    // The set removes duplicates between the page and the stream. A set keeps insertion order, so the first is the oldest.
    if (this.seen.size > 5 * this.mostRows) this.seen.delete(this.seen.values().next().value)
    if (!this.fits(event)) return
    this.waiting.push(event)
    if (this.waiting.length > most) {
      this.waiting.shift()
      if (!this.isPaused) this.skipped += 1
    }
    if (this.isPaused) this.missed += 1
  }

  flush() {
    if (this.isPaused) return this.tell()
    if (this.isFilled && !document.hidden && this.waiting.length > 0) this.write()
  }

  write() {
    // Partitions deliver events separately, so sort by time. All times have the same format, so text order is time order.
    const events = this.waiting.sort((a, b) => a.time < b.time ? -1 : a.time > b.time ? 1 : 0)
    this.waiting = []
    this.rows.prepend(...events.map(row).reverse())
    while (this.rows.childElementCount > this.mostRows) this.rows.lastElementChild.remove()
    this.showRows()
  }

  showRows() {
    const count = this.rows.childElementCount
    show(this.rows, count > 0)
    show($('feed-empty'), count === 0)
    say($('feed-empty'), this.searchedTo ? 'No event matches so far.'
      : this.isLive ? 'No events yet. New events appear here at once.' : 'No event matches.')
    show($('feed-earlier'), Boolean(this.isWhole && this.next))
    say($('feed-earlier'), this.searchedTo ? 'Search further' : 'Earlier events')
    const rest = this.searchedTo ? `, searched back to ${dateAndTime(this.searchedTo)}` : this.next && this.isWhole ? ', and earlier ones' : ''
    const more = this.skipped > 0 ? `. Events come too fast to read: ${plural(this.skipped, 'event is', 'events are')} not shown` : ''
    say($('feed-lead'), `${plural(count, 'event', 'events')}${rest}${more}`)
  }

  pause(isPaused) {
    this.isPaused = isPaused
    this.missed = 0
    const button = $('feed-pause')
    button.setAttribute('aria-pressed', String(isPaused))
    say(button, isPaused ? 'Resume' : 'Pause')
    this.flush()
    this.tell()
  }

  tell() {
    const chip = $('feed-state')
    chip.dataset.state = this.isPaused ? 'paused' : this.state
    say(chip, this.isPaused ? `paused; ${plural(this.missed, 'new event', 'new events')}` : streamStates[this.state] ?? '')
  }
}

function row(event) {
  const { device, app } = subjectOf(event)
  const { part } = here()
  return h('li', { dataset: { key: event.id } },
    h('time', { datetime: event.time }, part === 'feed' ? dayAndTime(event.time) : timeOfDay(event.time)),
    h('div', {},
      h('p', { class: 'sentence' }, sentence(event)),
      h('p', { class: 'about' }, device ? h('a', { href: toDevice(device) }, device) : event.subject, app ? ` ${app} ` : ' ',
        h('span', { class: `badge of-${serviceOf(event)}` }, serviceOf(event)), ' ', h('span', { class: 'type' }, shortType(event)))),
    h('a', { class: 'why', href: changed({ why: event.id }), 'aria-label': `Why ${event.type}?` }, 'why?'))
}
