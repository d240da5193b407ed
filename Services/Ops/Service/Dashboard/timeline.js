// The timeline of a device: lanes over time, and the list below with days and grouped steps.

import { get, path, segment } from './api.js'
import { changed } from './address.js'
import { $, h, keyed, say, show } from './dom.js'
import { Filters } from './filters.js'
import { Lanes } from './lanes.js'
import { isEcho, sentence } from './sentences.js'
import { day, plural, services, shortType, timeWithMilliseconds } from './words.js'

const pageSize = 100
const longDay = new Intl.DateTimeFormat('en', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })

export class Timeline {
  constructor(failed) {
    this.failed = failed
    this.lanes = new Lanes($('lanes'))
    this.filters = new Filters($('timeline-filters'), [
      { name: 'app', label: 'App', hint: 'all apps' }, { name: 'service', label: 'Service', options: [['', 'all'], ...services] },
      { name: 'type', label: 'Type', hint: 'all types' }, { name: 'echoes', label: 'Echoes', options: [['', 'hidden'], ['shown', 'shown']] },
    ])
    $('earlier').addEventListener('click', () => this.earlier().catch(error => this.refuse(error)))
  }

  open(device) {
    const { echoes, ...asked } = this.filters.read()
    this.asked = asked
    this.hidesEchoes = !echoes && !asked.type
    this.address = `v1/devices/${segment(device)}/timeline`
    this.entries = []
    this.next = undefined
    // The maximum number of events in the list; each page of earlier events raises it.
    this.most = 500
    keyed($('timeline'), [], each => each.key)
    for (const id of ['timeline-empty', 'earlier', 'timeline-hidden']) show($(id), false)
    this.lanes.clear()
  }

  page(cursor, signal) { return get(path(this.address, { ...this.asked, limit: pageSize, cursor }), signal) }

  async refresh(signal) {
    const { asked } = this
    const page = await this.page(undefined, signal).catch(error => this.refuse(error))
    if (!page || signal.aborted || asked !== this.asked) return
    const known = new Set(this.entries.map(entry => entry.event))
    const news = page.items.filter(entry => !known.has(entry.event))
    // If events may be missing between the lists, or the list is too long, it starts again from this page.
    if (news.length === page.items.length || this.entries.length > this.most) {
      this.entries = page.items
      this.next = page.next
    } else {
      this.entries = [...news, ...this.entries]
    }
    this.write()
  }

  async earlier() {
    const page = await this.page(this.next)
    this.next = page.next
    this.most += page.items.length
    const known = new Set(this.entries.map(entry => entry.event))
    this.entries.push(...page.items.filter(entry => !known.has(entry.event)))
    this.write()
  }

  refuse(error) {
    if (error.status === 400) this.filters.refuse(error)
    else if (error.status !== 404) throw error
  }

  write() {
    const shown = this.hidesEchoes ? this.entries.filter(entry => !isEcho(entry)) : this.entries
    const groups = grouped(shown)
    keyed($('timeline'), withDays(groups), each => each.key, make, fill)
    this.lanes.show(groups)
    show($('timeline-empty'), shown.length === 0)
    show($('earlier'), Boolean(this.next))
    const hidden = this.entries.length - shown.length
    show($('timeline-hidden'), hidden > 0)
    say($('timeline-hidden').firstElementChild, `${plural(hidden, 'event', 'events')} of services that only repeat what lifecycle has told: hidden.`)
    $('timeline-hidden').lastElementChild.setAttribute('href', changed({ echoes: 'shown' }))
  }
}

/** Returns the notification that an event is a step of. */
function notificationOf({ service, type, data }) {
  if (service === 'push') return data?.notification
  return type.startsWith('lifecycle.wake.') || type === 'lifecycle.app.woken' ? data?.request : undefined
}

/** Groups the steps of one push. Groups and single events are in the order of their latest event, newest first. */
function grouped(entries) {
  const groups = new Map()
  const isPush = new Set(entries.filter(entry => entry.service === 'push').map(notificationOf).filter(Boolean))
  for (const entry of entries) {
    const notification = notificationOf(entry)
    const key = notification && isPush.has(notification) ? notification : entry.event
    if (groups.has(key)) groups.get(key).steps.push(entry)
    else groups.set(key, { key, steps: [entry] })
  }
  return [...groups.values()]
}

/** Adds a heading before the first event of each day. */
function withDays(groups) {
  let last
  return groups.flatMap(group => {
    const date = day(group.steps[0].time)
    if (date === last) return [group]
    last = date
    return [{ key: date, date }, group]
  })
}

function make({ date }) {
  if (date) return h('li', { class: 'day' }, h('h3', {}, longDay.format(new Date(`${date}T00:00:00Z`))))
  return h('li', { class: 'entry' })
}

function fill(element, { date, steps }) {
  if (date) return
  const state = `${steps.length} ${steps[0].event}`
  if (element.dataset.state === state) return
  element.dataset.state = state
  const isOpen = element.querySelector('details')?.open
  const latest = headline(steps)
  element.replaceChildren(...line(latest), ...(steps.length > 1 ? [others(steps, latest, isOpen)] : []))
}

/** The most telling step: of a push, its latest status; wakes of lifecycle are parts of it. */
const headline = steps => steps.find(step => step.service === 'push' && step.data?.status) ?? steps[0]

function others(steps, latest, isOpen) {
  return h('details', { class: 'steps', open: isOpen, 'aria-label': 'Steps of this push' },
    h('summary', {}, `${plural(steps.length, 'step', 'steps')} of this push`),
    h('ol', {}, steps.map(step => h('li', { class: 'entry', 'aria-current': step === latest && 'step' }, line(step)))))
}

function line(entry) {
  return [
    h('time', { datetime: entry.time }, timeWithMilliseconds(entry.time)),
    h('span', { class: `badge of-${entry.service}` }, entry.service),
    h('div', { class: 'what' },
      h('p', {}, h('span', { class: 'sentence' }, sentence(entry)), entry.app ? ` · ${entry.app}` : ''),
      h('p', { class: 'muted type', title: (entry.summary ?? '').replaceAll('`', '') }, shortType(entry))),
    h('a', { class: 'why', href: changed({ why: entry.event }), 'aria-label': `Why ${entry.type}?` }, 'why?'),
  ]
}
