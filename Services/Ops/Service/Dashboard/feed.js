// The live feed of all services, newest event first.

import { follow, get, path } from './api.js'
import { $, h, say, show } from './dom.js'
import { askWhy } from './causes.js'
import { gist, plural, serviceOf, shortType, subjectOf, timeOfDay } from './words.js'

const most = 200
const stateWords = { connecting: 'connecting', live: 'live', waiting: 'connection lost; retrying', ended: 'ended' }

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
    $('feed-pause').addEventListener('click', () => this.pause(!this.isPaused))
    $('feed-service').addEventListener('change', () => this.fill().catch(error => this.failed(error)))
  }

  start() {
    this.stop()
    const { signal } = this.ending = new AbortController()
    this.clear()
    follow('v1/events/stream', {
      signal,
      told: event => {
        this.transfers.hear(event)
        if (this.fits(event)) this.take(event)
      },
      state: state => { this.state = state; this.tell() },
      failed: error => this.failed(error),
      opened: isFirst => isFirst && Promise.all([this.fill(), this.transfers.fill(signal)]),
    })
    this.timer = setInterval(() => this.flush(), 250)
  }

  stop() {
    this.ending?.abort()
    this.filling?.abort()
    clearInterval(this.timer)
  }

  fits(event) {
    const service = $('feed-service').value
    return service === '' || serviceOf(event) === service
  }

  /** Requests earlier events after the stream is open, so that no event is missed between. */
  async fill() {
    this.filling?.abort()
    const { signal } = this.filling = new AbortController()
    this.clear()
    this.isFilled = false
    try {
      const page = await get(path('v1/events', { service: $('feed-service').value, limit: 60 }), signal)
      const news = this.waiting
      this.clear()
      for (const event of page.items.reverse().concat(news)) this.take(event)
      this.missed = 0
    } catch (error) {
      if (signal.aborted) return
      throw error
    } finally {
      if (!signal.aborted) this.isFilled = true
    }
    this.write()
    this.showRows(this.rows.childElementCount > 0)
  }

  clear() {
    this.seen = new Set()
    this.waiting = []
    this.missed = 0
    this.rows.replaceChildren()
    this.showRows(true)
  }

  take(event) {
    if (this.seen.has(event.id)) return
    this.seen.add(event.id)
    // The set removes duplicates between the page and the stream. A set keeps insertion order, so the first is the oldest.
    if (this.seen.size > 5 * most) this.seen.delete(this.seen.values().next().value)
    this.waiting.push(event)
    if (this.waiting.length > most) this.waiting.shift()
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
    while (this.rows.childElementCount > most) this.rows.lastElementChild.remove()
    this.showRows(true)
  }

  showRows(hasEvents) {
    show(this.rows, hasEvents)
    show($('feed-empty'), !hasEvents)
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
    say(chip, this.isPaused ? `paused; ${plural(this.missed, 'new event', 'new events')}` : stateWords[this.state] ?? '')
  }
}

function row(event) {
  const { device, app } = subjectOf(event)
  return h('li', { dataset: { key: event.id } },
    h('time', { datetime: event.time }, timeOfDay(event.time)),
    h('div', {},
      h('p', {}, h('span', { class: `badge of-${serviceOf(event)}` }, serviceOf(event)), ' ', h('span', { class: 'type' }, shortType(event))),
      h('p', {}, device ? h('a', { href: `#/devices/${encodeURIComponent(device)}` }, device) : event.subject, app ? ` ${app} ` : ' ',
        h('span', { class: 'gist' }, gist(event.data)))),
    h('button', { type: 'button', class: 'why', 'aria-label': `Why ${event.type}?`, onclick: () => askWhy(event.id) }, 'why?'))
}
