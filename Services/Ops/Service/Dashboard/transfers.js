// Transfers: the tasks that move on the overview and on the page of a device, and the page of all of them.

import { $, h, keyed, say, show } from './dom.js'
import { eventsOf, follow, path } from './api.js'
import { changed, here, to, toDevice } from './address.js'
import { Filters } from './filters.js'
import { bytes, dateAndTime, number, plural, subjectOf, transferError, waits, word } from './words.js'

/** The changes that each event type makes to a task. */
const turns = {
  'transfer.task.created': data => ({ kind: data.kind, url: data.request?.url }),
  'transfer.attempt.started': () => ({ state: 'connecting', reason: undefined }),
  'transfer.progress.made': data => ({ state: 'receiving', moved: data.totalBytesWritten, expected: data.totalBytesExpectedToWrite }),
  'transfer.body.sent': data => ({ state: 'sending', moved: data.totalBytesSent, expected: data.totalBytesExpectedToSend }),
  'transfer.attempt.ended': (_, task) => isUnderWay(task) ? { state: 'waiting' } : {},
  'transfer.task.held': data => ({ state: 'waiting', reason: data.waiting }),
  'transfer.task.completed': (data, task) => ({
    state: data.error ? 'failed' : 'completed', error: data.error, moved: data.bytesSent ?? data.bytesReceived ?? task.moved,
  }),
}
const types = Object.keys(turns).join(',')

/** The tasks of events, the most recently updated last. */
class Tasks {
  constructor(most) {
    this.most = most
    this.byKey = new Map()
    this.isChanged = false
  }

  hear({ id, time, type, subject, data }) {
    const turn = turns[type]
    if (!turn) return
    const { device, app } = subjectOf({ subject })
    const key = `${subject} ${data.session} ${data.task}`
    const before = this.byKey.get(key) ?? { key, device, app, session: data.session, number: data.task, moved: 0, state: 'waiting' }
    // An event of the stream may be older than one of the page.
    if (before.time > time) return
    this.byKey.delete(key)
    this.byKey.set(key, { ...before, ...turn(data, before), time, event: id })
    if (this.byKey.size > this.most) this.byKey.delete(this.byKey.keys().next().value)
    this.isChanged = true
  }

  /** Those that move first, then the most recent. */
  get sorted() {
    const recent = [...this.byKey.values()].reverse()
    return [...recent.filter(moves), ...recent.filter(task => !moves(task))]
  }
}

/** The tasks of the overview. */
export class Transfers {
  constructor() {
    this.tasks = new Tasks(60)
    setInterval(() => this.write(), 500)
  }

  /** Requests the recent events of transfers. The stream delivers new ones. */
  async fill(signal) {
    const page = await eventsOf({ type: types, fleet: here().query.fleet, limit: 60 }, signal)
    this.tasks = new Tasks(60)
    this.tasks.isChanged = true
    for (const event of page.items.reverse()) this.hear(event)
  }

  hear(event) { this.tasks.hear(event) }

  write() {
    if (!this.tasks.isChanged || document.hidden) return
    this.tasks.isChanged = false
    const shown = this.tasks.sorted.slice(0, 6)
    keyed($('tasks'), shown, task => task.key, row, update)
    show($('tasks'), shown.length > 0)
  }
}

/** The transfers of one device. */
export class DeviceTransfers {
  open(name) {
    this.name = name
    this.tasks = new Tasks(1000)
  }

  /** Requests the events that the page of transfers requests. The stream of the device delivers new ones. */
  async fill(signal) {
    const page = await eventsOf({ device: this.name, type: types, limit: 1000 }, signal)
    if (signal.aborted) return
    for (const event of page.items.reverse()) this.tasks.hear(event)
    this.tasks.isChanged = true
    this.write()
  }

  hear(event) { this.tasks.hear(event) }

  write() {
    if (!this.tasks.isChanged || document.hidden) return
    this.tasks.isChanged = false
    const all = this.tasks.sorted
    keyed($('device-tasks'), all.slice(0, 10), task => task.key, row, update)
    say($('device-tasks-count'), number(all.length))
    $('device-tasks-count').setAttribute('href', to('transfers', { device: this.name }))
    $('device-tasks-count').setAttribute('aria-label', `${plural(all.length, 'transfer', 'transfers')} of ${this.name}`)
    show($('device-tasks-panel'), all.length > 0)
    $('device-tasks-panel').dataset.of = this.name
  }
}

const choices = ['connecting', 'receiving', 'sending', 'waiting', 'completed', 'failed']

/** The page of all transfers, by device, app, state and time. */
export class TransferPage {
  constructor(failed) {
    this.failed = failed
    this.filters = new Filters($('transfers-filters'), [
      { name: 'state', label: 'State', options: [['', 'all'], ...choices] },
      { name: 'device', label: 'Device', hint: 'all devices' }, { name: 'app', label: 'App', hint: 'all apps' },
      { name: 'since', label: 'From', kind: 'time' }, { name: 'until', label: 'to', kind: 'time' },
    ])
  }

  open({ query }) {
    const { state, ...asked } = { ...this.filters.read(), fleet: query.fleet }
    this.state = state
    this.asked = asked
    const { signal } = this.ending = new AbortController()
    this.tasks = new Tasks(1000)
    this.isWhole = true
    say($('transfers-lead'), 'Reading the log …')
    keyed($('transfer-rows'), [], task => task.key)
    const filled = () => this.fill(signal).catch(error => this.fail(error, signal))
    if (asked.until) filled()
    else {
      const { since, ...streamed } = asked
      follow(path('v1/events/stream', { ...streamed, type: types }), {
        signal, told: event => this.tasks.hear(event), state: () => {}, failed: error => this.fail(error, signal),
        opened: isFirst => isFirst && filled(),
      })
    }
    this.timer = setInterval(() => this.write(), 500)
  }

  close() {
    this.ending?.abort()
    clearInterval(this.timer)
  }

  async fill(signal) {
    const page = await eventsOf({ ...this.asked, type: types, limit: 1000 }, signal)
    this.isWhole = page.next === null
    for (const event of page.items.reverse()) this.tasks.hear(event)
    this.tasks.isChanged = true
    this.write()
  }

  fail(error, signal) {
    if (signal.aborted) return
    if (error.status !== 400) return this.failed(error)
    this.filters.refuse(error)
    this.close()
  }

  write() {
    if (!this.tasks.isChanged || document.hidden) return
    this.tasks.isChanged = false
    const shown = this.tasks.sorted.filter(task => !this.state || task.state === this.state)
    keyed($('transfer-rows'), shown, task => task.key, row, update)
    say($('transfers-lead'), shown.length === 0 ? 'No transfer matches.'
      : `${plural(shown.length, 'transfer', 'transfers')}, moving ones first${this.isWhole ? '' : '; only those of the newest 1,000 events'}`)
  }
}

const moves = ({ state }) => ['connecting', 'receiving', 'sending'].includes(state)
const isUnderWay = ({ state }) => state !== 'completed' && state !== 'failed'

function row(task) {
  return h('li', {},
    h('p', {}, h('a', { href: toDevice(task.device) }, task.device), ` ${task.app} `,
      h('span', { class: 'muted' }, `${task.session}, task ${task.number}`)),
    h('span', { class: 'muted' }),
    h('p', { class: 'muted file', hidden: true }),
    h('progress', { 'aria-label': `Task ${task.number} of ${task.device} ${task.app}` }),
    h('p', { class: 'muted about' }, h('time'), ' ', h('a', { class: 'why', 'aria-label': `Why? Task ${task.number} of ${task.device}` }, 'why?')))
}

function update(element, task) {
  const [, words, file, bar, about] = element.children
  element.dataset.state = task.state
  say(words, [stateWords(task), amount(task)].filter(Boolean).join(' · '))
  if (task.url) say(file, `${task.kind} of ${task.url}`)
  show(file, Boolean(task.url))
  say(about.firstElementChild, dateAndTime(task.time))
  about.lastElementChild.setAttribute('href', changed({ why: task.event }))
  if (!isUnderWay(task)) bar.value = 1
  else if (task.expected > 0) bar.value = Math.min(1, task.moved / task.expected)
  else bar.removeAttribute('value')
}

function stateWords({ state, reason, error }) {
  if (state === 'failed') return `failed: ${transferError(error.code)}`
  return state === 'waiting' && reason ? `waiting ${waits[reason] ?? word(reason)}` : state
}

function amount({ state, moved, expected }) {
  if (state === 'failed' || !moved) return ''
  return state !== 'completed' && expected > 0 ? `${bytes(moved)} of ${bytes(expected)}` : bytes(moved)
}
